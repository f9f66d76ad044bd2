<?php

declare(strict_types=1);

namespace Stampede\RandomRow;

use Illuminate\Database\Eloquent\Model;

/**
 * A record as a model.
 *
 * @property int $id
 * @property string $name
 * @property int $number
 */
final class Record extends Model
{
    public $timestamps = false;

    protected $table = 'records';

    protected $fillable = ['number'];

    protected $casts = ['number' => 'integer'];
}
