<?php

declare(strict_types=1);

namespace Stampede\RandomRow;

use Illuminate\Database\Eloquent\Model;

/**
 * A record as a model of Laravel's.
 *
 * @property int $id
 * @property string $name
 * @property int $number
 */
final class EloquentRecord extends Model
{
    public $timestamps = false;

    protected $table = 'records';

    protected $fillable = ['number'];

    /** @var array<string, string> */
    protected $casts = ['number' => 'integer'];
}
