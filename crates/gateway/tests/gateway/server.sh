# A server over stdin and stdout that answers every call with its process id and that of a process it has started.
# Its arguments: a file that gets a line for each start, and one without which it ends at once.
echo started >> "$1"
[ -z "$2" ] || [ -e "$2" ] || { read -r _; exit 1; }
sleep 1000 &
while read -r line; do
    id=${line##*\"id\":}
    case $line in *'"slow"'*) sleep 0.4 ;; *'"crash"'*) exit 1 ;; esac
    echo "{\"jsonrpc\":\"2.0\",\"id\":${id%%[,\}]*},\"result\":[$$,$!]}"
    case $line in *'"last"'*) exit 0 ;; esac
done
