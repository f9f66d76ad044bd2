<?php

declare(strict_types=1);

namespace Stampede\RandomRow;

use Doctrine\DBAL\Connection;
use Doctrine\ORM\EntityManager;
use Doctrine\ORM\ORMSetup;
use Symfony\Component\Cache\Adapter\ArrayAdapter;

/**
 * By Doctrine's object-relational mapper.
 */
final class OrmRows implements Rows
{
    private readonly EntityManager $entities;

    public function __construct(Connection $connection)
    {
        // One class without relations: what is known of it is kept as long as the process lives.
        $configuration = ORMSetup::createAttributeMetadataConfiguration([__DIR__], false, null, new ArrayAdapter());
        $this->entities = new EntityManager($connection, $configuration);
    }

    public function find(int $id): ?array
    {
        // A worker must not answer from what it read for an earlier request.
        $this->entities->clear();
        return $this->entities->find(Record::class, $id)?->values();
    }

    public function update(int $id, int $number): void
    {
        $this->entities->clear();
        $this->entities->find(Record::class, $id)?->changeNumber($number);
        $this->entities->flush();
    }
}
