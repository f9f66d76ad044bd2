-- The people of the contest, for PostgreSQL 14 or newer in a database whose encoding is UTF8. Begins anew each time.
CREATE EXTENSION IF NOT EXISTS pg_trgm;

DROP TABLE IF EXISTS pessoas;

-- What a search looks at, in lower case by Unicode's rules whatever the locale of the cluster. U+001F stands between the
-- parts, so that no term is found across two of them.
CREATE OR REPLACE FUNCTION pessoa_busca(apelido text, nome text, stack jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN lower(concat_ws(
        E'\x1f',
        apelido,
        nome,
        (SELECT string_agg(value, E'\x1f') FROM jsonb_array_elements_text(stack) AS element (value))
    ) COLLATE "und-x-icu");

CREATE TABLE pessoas (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    apelido varchar(32) NOT NULL UNIQUE,
    nome varchar(100) NOT NULL,
    nascimento date NOT NULL,
    stack jsonb,
    -- Of the collation with which it is searched: another would not use the index.
    busca text COLLATE "und-x-icu" NOT NULL GENERATED ALWAYS AS (pessoa_busca(apelido, nome, stack)) STORED
);

-- Without the list of pending entries, through which every search would go.
CREATE INDEX pessoas_busca ON pessoas USING gin (busca gin_trgm_ops) WITH (fastupdate = off);
