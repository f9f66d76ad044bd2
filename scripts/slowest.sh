#!/usr/bin/env bash
# Prints what the last run of scripts/tests.sh skipped or repeated, and its slowest tests: slowest.sh [NUMBER]
#
# Reads the reports of cargo-nextest, or the output of `cargo test`, which knows the seconds of whole programs only.
set -euo pipefail
cd "$(dirname "$0")/.."

number=${1:-15}
files=()
for part in beside studies alone; do
    # Whichever ran last.
    newest=$(ls -t "target/nextest/$part/junit.xml" "target/cargo-test/$part" 2>/dev/null | head -n 1 || true)
    [ -z "$newest" ] || files+=("$newest")
done
[ ${#files[@]} -gt 0 ] || exit 0

echo "Skipped, and run again because the machine held it up:"
sed 's/<system-err>//; s/&lt;/</g; s/&gt;/>/g; s/&quot;/"/g; s/&amp;/\&/g' "${files[@]}" |
    grep -E '^(SKIP|AGAIN) ' | sort | uniq -c | sort -rn || echo "  nothing"

# Lines of seconds and a name.
times() {
    case $1 in
        *.xml) sed -n 's/.*<testcase name="\([^"]*\)" classname="\([^"]*\)".* time="\([0-9.]*\)".*/\3 \2 \1/p' "$1" ;;
        # A line names a program, and a later one has its time.
        *) sed -n -e 's/^ *Running .* (\(.*\))$/\1/;t keep' -e 's/^test result: .* finished in \([0-9.]*\)s$/\1/;T;G;s/\n/ /p;d' \
            -e ':keep' -e 'h' "$1" ;;
    esac
}
echo "The slowest, in seconds:"
for file in "${files[@]}"; do times "$file"; done | sort -rn |
    awk -v number="$number" 'NR <= number { seconds = $1; $1 = ""; printf "%9.1f %s\n", seconds, $0 }'
