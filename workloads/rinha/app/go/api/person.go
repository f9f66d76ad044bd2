package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Why a person was not created.
var (
	errWrongType = errors.New("a member is of a wrong type")
	errInvalid   = errors.New("a member breaks a rule")
)

// Person is one as the contest's rules want them.
type Person struct {
	ID       string   `json:"id"`
	Nickname string   `json:"apelido"`
	Name     string   `json:"nome"`
	Born     string   `json:"nascimento"`
	Stack    []string `json:"stack"`
}

// An escaped backslash, a pair of surrogates, or one half of a pair that stands alone.
var surrogates = regexp.MustCompile(`(?i)\\(?:\\|ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|ud[89a-f][0-9a-f]{2})`)

// hasHalf tells whether half a pair of surrogates is in some JSON, which is no character (RFC 8259, section 8.2). Go's
// decoder puts another one in its place.
func hasHalf(body []byte) bool {
	for _, escape := range surrogates.FindAll(body, -1) {
		if len(escape) == len(`\ud800`) {
			return true
		}
	}
	return false
}

// The levels of objects and lists that PHP's decoder takes: its depth of 512 is one too many.
// https://www.php.net/manual/en/function.json-decode.php
const maxDepth = 511

// isBeyondPHP tells whether PHP's decoder refuses what is JSON otherwise: it is nested too deeply, or a member's name begins with
// U+0000, as no property of a PHP object may.
func isBeyondPHP(body []byte) bool {
	isDeep := bytes.Count(body, []byte("{"))+bytes.Count(body, []byte("[")) > maxDepth
	if !isDeep && !bytes.Contains(body, []byte(`\u0000`)) {
		return false
	}
	// What a level that is open expects next.
	const (
		element = iota
		name
		value
	)
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var open []int
	for {
		token, err := decoder.Token()
		if err != nil {
			return false
		}
		last := len(open) - 1
		if text, isText := token.(string); isText && last >= 0 && open[last] == name {
			if strings.HasPrefix(text, "\x00") {
				return true
			}
			open[last] = value
			continue
		}
		switch token {
		case json.Delim('{'):
			open = append(open, name)
		case json.Delim('['):
			open = append(open, element)
		case json.Delim('}'), json.Delim(']'):
			open = open[:last]
		}
		if len(open) > maxDepth {
			return true
		}
		isClosed := token != json.Delim('{') && token != json.Delim('[')
		if last = len(open) - 1; isClosed && last >= 0 && open[last] == value {
			open[last] = name
		}
	}
}

// read reads what was sent. A member of a wrong type weighs more than one that breaks a rule.
func read(body []byte) (Person, error) {
	var sent map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	isJSON := utf8.Valid(body) && !hasHalf(body) && decoder.Decode(&sent) == nil && sent != nil && !decoder.More()
	if !isJSON || isBeyondPHP(body) {
		return Person{}, errWrongType
	}
	nickname, nicknameFits := text(sent["apelido"])
	name, nameFits := text(sent["nome"])
	born, bornFits := text(sent["nascimento"])
	stack, stackFits := texts(sent["stack"])
	if !nicknameFits || !nameFits || !bornFits || !stackFits {
		return Person{}, errWrongType
	}
	if !isRequired(nickname, 32) || !isRequired(name, 100) || !isDate(born) {
		return Person{}, errInvalid
	}
	for _, technology := range stack {
		if !fits(technology, 32) {
			return Person{}, errInvalid
		}
	}
	return Person{Nickname: nickname, Name: name, Born: born, Stack: stack}, nil
}

// text takes null for an empty text, which breaks the same rule.
func text(value any) (string, bool) {
	if value == nil {
		return "", true
	}
	text, isText := value.(string)
	return text, isText
}

func texts(value any) ([]string, bool) {
	if value == nil {
		return nil, true
	}
	values, isList := value.([]any)
	if !isList {
		return nil, false
	}
	texts := make([]string, len(values))
	for i, value := range values {
		text, isText := value.(string)
		if !isText {
			return nil, false
		}
		texts[i] = text
	}
	return texts, true
}

func isRequired(text string, most int) bool {
	return strings.Trim(text, " \t\n\r\x00\x0b") != "" && fits(text, most)
}

// fits counts characters. PostgreSQL keeps no U+0000 in a text.
func fits(text string, most int) bool {
	return utf8.RuneCountInString(text) <= most && !strings.Contains(text, "\x00")
}

func isDate(text string) bool {
	_, err := time.Parse("2006-01-02", text)
	// There is no year 0.
	return err == nil && !strings.HasPrefix(text, "0000")
}
