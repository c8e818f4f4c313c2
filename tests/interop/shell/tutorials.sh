# All tutorials with curl.
#
#   sh tutorials.sh http://…

base=$1
failed=0

# check CLAIM FOUND EXPECTED
check() {
  if [ "$2" = "$3" ]; then
    echo "ok $1"
  else
    failed=1
    printf 'FAILED %s\n  found    %s\n  expected %s\n' "$1" "$2" "$3"
  fi
}

# post PATH BODY: the answer, and its status behind it
post() {
  curl --silent --show-error --noproxy '*' --max-time 20 --write-out ' %{http_code}' \
    --header 'Content-Type: application/json' --data "$2" "$base$1"
}

# stream QUERY: the events, on one line
stream() {
  curl --silent --show-error --noproxy '*' --max-time 20 --no-buffer "$base/rpc/stream?$1" | tr -s '\n' ' '
}

five='{"jsonrpc":"2.0","result":5,"id":1} 200'
for path in / /rpc /jsonrpc; do
  check "math/add at $path" "$(post $path '{"jsonrpc":"2.0","method":"math/add","params":{"a":2,"b":3},"id":1}')" "$five"
done
check "paritosh/echo" "$(post /rpc '{"jsonrpc":"2.0","method":"paritosh/echo","params":{"message":"hi"},"id":1}')" \
  '{"jsonrpc":"2.0","result":"[Paritosh] hi","id":1} 200'
check "math/sqrt of a negative number" "$(post /rpc '{"jsonrpc":"2.0","method":"math/sqrt","params":[-1],"id":1}')" \
  '{"jsonrpc":"2.0","error":{"code":-32001,"message":"Invalid user data","data":{"details":"x must not be negative"}},"id":1} 200'
check "logEvent" "$(post /rpc '{"jsonrpc":"2.0","method":"logEvent","params":{"event":"login"}}')" ' 204'

start='data: {"jsonrpc":"2.0","result":"","id":1,"event":"start"}'
h='data: {"jsonrpc":"2.0","result":"h","id":1}'
i='data: {"jsonrpc":"2.0","result":"i","id":1}'
check "paritosh/stream" "$(stream 'method=paritosh/stream&message=hi&id=1')" "$start $h $i data: [DONE] "

check "echo" "$(post /jsonrpc '{"jsonrpc":"2.0","method":"echo","params":{"message":{"a":[1,2.50]}},"id":"x"}')" \
  '{"jsonrpc":"2.0","result":{"a":[1,2.50]},"id":"x"} 200'
check "trigger_error" "$(post /jsonrpc '{"jsonrpc":"2.0","method":"trigger_error","params":["no"],"id":1}')" \
  '{"jsonrpc":"2.0","error":{"code":-32000,"message":"no"},"id":1} 200'
check "notify_log" "$(post /jsonrpc '{"jsonrpc":"2.0","method":"notify_log","params":{"message":"hi"}}')" ' 204'
check "1.0" "$(post /jsonrpc '{"method":"add","params":[2,3],"id":1}')" '{"result":5,"error":null,"id":1} 200'
check "1.0, a notification" "$(post /jsonrpc '{"method":"add","params":[2,3],"id":null}')" ' 204'

check "subtract" "$(post / '{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":1}')" \
  '{"jsonrpc":"2.0","result":19,"id":1} 200'
check "foobar" "$(post / '{"jsonrpc":"2.0","method":"foobar","id":"1"}')" \
  '{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found","data":{"method":"foobar"}},"id":"1"} 200'
check "update" "$(post / '{"jsonrpc":"2.0","method":"update","params":[1,2,3,4,5]}')" ' 204'
check "a batch of notifications" \
  "$(post / '[{"jsonrpc":"2.0","method":"notify_hello","params":[7]},{"jsonrpc":"2.0","method":"update"}]')" ' 204'

exit $failed
