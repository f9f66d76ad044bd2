#!/usr/bin/env bash
# Checks the web code of reports, and looks at reports in a browser: web.sh build|test
#
# What is missing is named and skipped. CHROMIUM names another browser.
set -euo pipefail
cd "$(dirname "$0")/../web"

purpose=${1:?build or test}

skip() {
    echo "SKIP web $purpose: needs $1" >&2
    exit 0
}
command -v node >/dev/null || skip 'node (Debian: nodejs)'
command -v npm >/dev/null || skip 'npm (Debian: npm)'
if ! cmp -s package-lock.json node_modules/.locked; then
    # Not `npm ci`: it refuses a lock without the packages for other systems, which not every registry has.
    npm install --no-save --no-audit --no-fund --loglevel=error || skip 'the npm registry, or its packages in web/node_modules'
    cp package-lock.json node_modules/.locked
fi

if [ "$purpose" = build ]; then
    npm run --silent types
    npm run --silent check
    npm run --silent build
    exit
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The types are those of the schema, and what is embedded in the program is built from this code.
npx json2ts --input schema.json --no-additionalProperties \
    --bannerComment '/* From schema.json, by npm run types. */' --output "$scratch/document.d.ts"
cmp "$scratch/document.d.ts" src/document.d.ts || { echo "run scripts/web.sh build, and commit web/src/document.d.ts" >&2; exit 1; }
npm run --silent check
npx vite build --logLevel error --outDir "$scratch/dist"
diff -rq "$scratch/dist" dist || { echo "run scripts/web.sh build, and commit web/dist" >&2; exit 1; }

npx esbuild test/model.test.ts --bundle --platform=node --format=esm --outfile="$scratch/model.test.mjs" --log-level=warning
node --test "$scratch/model.test.mjs"

# The one without windows first: it draws the same pages with less.
browser=${CHROMIUM:-$(command -v chromium-headless-shell || command -v chromium || command -v chromium-browser || true)}
[ -n "$browser" ] || skip 'chromium (Debian: chromium)'
mkdir "$scratch/pages"
# Of all crates, and asked for as scripts/tests.sh asks for them: for one package, or for tests of one name, cargo chooses other
# features and profiles of what many crates use, builds them and the program again, and does so while other tests run that program.
STAMPEDE_PAGES=$scratch/pages CHROMIUM=$browser \
    cargo test --quiet --locked --lib --bins --tests -- --ignored --nocapture pages_for_a_browser in_a_browser
# Those that the documentation shows, too.
cp ../docs/samples/*.html "$scratch/pages"
CHROMIUM=$browser node test/browser.mjs "$scratch/pages" ${SCREENSHOTS:+"$SCREENSHOTS"}
