package api

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// People are the people in the database. It is safe for concurrent use.
type People struct {
	db *sql.DB
}

// Open opens a database such as pgsql://user:password@host:port/name, to be used through at most so many connections.
func Open(url string, connections int) (*People, error) {
	config, err := pgx.ParseConfig(strings.Replace(url, "pgsql://", "postgres://", 1))
	if err != nil {
		return nil, err
	}
	// As PHP's driver does it: one round trip a query, and no statement is left behind in a pooled connection.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return &People{db}, nil
}

const columns = `id::text, apelido, nome, nascimento::text, stack::text`

// add tells the new person's id, or none when the nickname is taken.
func (people *People) add(ctx context.Context, person Person) (string, error) {
	var stack *string
	if person.Stack != nil {
		encoded, err := json.Marshal(person.Stack)
		if err != nil {
			return "", err
		}
		text := string(encoded)
		stack = &text
	}
	var id string
	err := people.db.QueryRowContext(ctx, `
		INSERT INTO pessoas (apelido, nome, nascimento, stack) VALUES ($1, $2, $3, $4)
		ON CONFLICT (apelido) DO NOTHING RETURNING id::text`,
		person.Nickname, person.Name, person.Born, stack,
	).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return id, err
}

// find tells whether there is such a person.
func (people *People) find(ctx context.Context, id string) (Person, bool, error) {
	person, err := scan(people.db.QueryRowContext(ctx, `SELECT `+columns+` FROM pessoas WHERE id = $1`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Person{}, false, nil
	}
	return person, err == nil, err
}

var literally = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// search tells at most fifty people who have the term in their nickname, name or stack.
func (people *People) search(ctx context.Context, term string) ([]Person, error) {
	rows, err := people.db.QueryContext(ctx, `
		SELECT `+columns+` FROM pessoas WHERE busca LIKE lower($1 COLLATE "und-x-icu") LIMIT 50`,
		"%"+literally.Replace(term)+"%",
	)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := []Person{}
	for rows.Next() {
		person, err := scan(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, person)
	}
	return found, rows.Err()
}

func (people *People) count(ctx context.Context) (count int, err error) {
	err = people.db.QueryRowContext(ctx, `SELECT count(*) FROM pessoas`).Scan(&count)
	return count, err
}

func scan(row interface{ Scan(...any) error }) (person Person, err error) {
	var stack sql.NullString
	if err = row.Scan(&person.ID, &person.Nickname, &person.Name, &person.Born, &stack); err == nil && stack.Valid {
		err = json.Unmarshal([]byte(stack.String), &person.Stack)
	}
	return person, err
}
