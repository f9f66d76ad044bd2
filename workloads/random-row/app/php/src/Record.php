<?php

declare(strict_types=1);

namespace Stampede\RandomRow;

use Doctrine\ORM\Mapping\Column;
use Doctrine\ORM\Mapping\Entity;
use Doctrine\ORM\Mapping\Id;
use Doctrine\ORM\Mapping\Table;

/**
 * A record as an object.
 */
#[Entity]
#[Table('records')]
class Record
{
    public function __construct(
        #[Id]
        #[Column]
        private int $id,
        #[Column(length: 32)]
        private string $name,
        #[Column]
        private int $number,
    ) {
    }

    public function changeNumber(int $number): void
    {
        $this->number = $number;
    }

    /**
     * @return array{id: int, name: string, number: int}
     */
    public function values(): array
    {
        return ['id' => $this->id, 'name' => $this->name, 'number' => $this->number];
    }
}
