package api

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

//go:embed sqlite.sql
var sqlite string

// Rows is the table of records. It is safe for concurrent use.
type Rows struct {
	db           *sql.DB
	find, update string
}

// Row is a record.
type Row struct {
	ID     int    `json:"id"`
	Name   string `json:"name"`
	Number int    `json:"number"`
}

// Open opens pgsql://user:password@host:port/name, the same with mysql, or a file by sqlite:///path, to be used through
// at most so many connections.
func Open(address string, connections int) (*Rows, error) {
	rows := &Rows{
		find:   "SELECT id, name, number FROM records WHERE id = ?",
		update: "UPDATE records SET number = ? WHERE id = ?",
	}
	parts, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("DATABASE_URL is no address")
	}
	switch parts.Scheme {
	case "pgsql", "postgres", "postgresql":
		parts.Scheme = "postgres"
		config, err := pgx.ParseConfig(parts.String())
		if err != nil {
			return nil, err
		}
		// As PHP's drivers do it: one round trip a query, and no statement is left behind in a pooled connection.
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
		rows.db = stdlib.OpenDB(*config)
		rows.find = "SELECT id, name, number FROM records WHERE id = $1"
		rows.update = "UPDATE records SET number = $1 WHERE id = $2"
	case "mysql", "mariadb":
		config := mysql.NewConfig()
		config.Net, config.Addr, config.DBName = "tcp", parts.Host, strings.TrimPrefix(parts.Path, "/")
		config.User = parts.User.Username()
		config.Passwd, _ = parts.User.Password()
		// One round trip a query: the driver fills in the values itself.
		config.InterpolateParams = true
		connector, err := mysql.NewConnector(config)
		if err != nil {
			return nil, err
		}
		rows.db = sql.OpenDB(connector)
	case "sqlite":
		rows.db, err = sql.Open("sqlite", "file:"+strings.TrimPrefix(parts.Path, "/")+"?_pragma=busy_timeout(60000)")
	default:
		return nil, errors.New("DATABASE_URL is none of pgsql://, mysql:// and sqlite:///")
	}
	if err != nil {
		return nil, err
	}
	rows.db.SetMaxOpenConns(connections)
	rows.db.SetMaxIdleConns(connections)
	return rows, nil
}

// Seed makes an SQLite database in a folder and tells its address.
func Seed(folder string) (string, error) {
	file := filepath.Join(folder, "database.sqlite")
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		return "", err
	}
	if _, err := db.Exec(sqlite); err != nil {
		return "", err
	}
	return "sqlite:///" + file, db.Close()
}

// read tells whether there is such a record.
func (rows *Rows) read(ctx context.Context, id int) (row Row, found bool, err error) {
	err = rows.db.QueryRowContext(ctx, rows.find, id).Scan(&row.ID, &row.Name, &row.Number)
	if errors.Is(err, sql.ErrNoRows) {
		return row, false, nil
	}
	return row, err == nil, err
}

// change gives a record another number.
func (rows *Rows) change(ctx context.Context, id, number int) error {
	_, err := rows.db.ExecContext(ctx, rows.update, number, id)
	return err
}
