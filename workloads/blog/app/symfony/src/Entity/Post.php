<?php

declare(strict_types=1);

namespace Stampede\Blog\Entity;

use DateTimeImmutable;
use Doctrine\Common\Collections\ArrayCollection;
use Doctrine\Common\Collections\Collection;
use Doctrine\ORM\Mapping as ORM;

#[ORM\Entity]
#[ORM\Table('post')]
class Post
{
    /** @var Collection<int, Tag> */
    #[ORM\ManyToMany(targetEntity: Tag::class)]
    #[ORM\JoinTable('post_tag')]
    #[ORM\OrderBy(['name' => 'ASC'])]
    private Collection $tags;

    public function __construct(
        #[ORM\Id]
        #[ORM\Column]
        private int $id,
        #[ORM\Column]
        private string $title,
        #[ORM\Column]
        private string $slug,
        #[ORM\Column]
        private string $summary,
        #[ORM\Column(type: 'text')]
        private string $content,
        #[ORM\Column(name: 'published_at')]
        private DateTimeImmutable $publishedAt,
        #[ORM\ManyToOne]
        #[ORM\JoinColumn(nullable: false)]
        private Author $author,
    ) {
        $this->tags = new ArrayCollection();
    }

    public function id(): int
    {
        return $this->id;
    }

    public function title(): string
    {
        return $this->title;
    }

    public function slug(): string
    {
        return $this->slug;
    }

    public function summary(): string
    {
        return $this->summary;
    }

    public function content(): string
    {
        return $this->content;
    }

    public function publishedAt(): DateTimeImmutable
    {
        return $this->publishedAt;
    }

    public function author(): Author
    {
        return $this->author;
    }

    /**
     * @return Collection<int, Tag>
     */
    public function tags(): Collection
    {
        return $this->tags;
    }
}
