# An image of FrankenPHP, whose Caddyfile serves localhost over HTTPS unless SERVER_NAME is another, in the cluster that test.sh has started,
# which reads this.
rm -f "$work"/franken.db* "$work"/named.db*
memory=256Mi compared franken compare --image localhost/frankenphp:test --rounds 1 --json "$work/franken.json" || [ $? = 4 ]
cat "$work/franken.log"
check "FrankenPHP is given SERVER_NAME" grep -q "localhost/frankenphp:test is given SERVER_NAME=:80" "$work/franken.log"
check "it serves" jq -e '.cases[0].trials | length == 1 and all(.outcome != "failed")' "$work/franken.json"
memory=256Mi compared named compare --image localhost/frankenphp:test --set image.SERVER_NAME=:8080 --rounds 1 || [ $? = 4 ]
cat "$work/named.log"
check "what the user gives is kept" grep -q "localhost/frankenphp:test answers on port 8080" "$work/named.log"
wait_for 90 "it leaves nothing" nothing_left
