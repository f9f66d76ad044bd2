<?php

declare(strict_types=1);

namespace Stampede\Rinha\Laravel;

use Illuminate\Database\Eloquent\Model;

/**
 * A person in the database.
 *
 * @property string $id
 */
final class Person extends Model
{
    /** What the API shows. */
    public const COLUMNS = ['id', 'apelido', 'nome', 'nascimento', 'stack'];

    public $timestamps = false;

    public $incrementing = false;

    protected $table = 'pessoas';

    protected $keyType = 'string';

    protected $fillable = self::COLUMNS;

    /** @var array<string, string> */
    protected $casts = ['stack' => 'array'];
}
