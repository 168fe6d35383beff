# sh tether.sh <command> [arguments…]: runs a command that does not outlive the process that started it.
#
# File descriptor 4 is a pipe whose other end that process holds. A watcher, left behind before `exec`, reads it: a line
# means that the command has ended; the end of the pipe means that its owner has died: then the watcher ends the command.
(
  if ! read -r _ <&4; then
    kill -TERM $$
    tries=0
    while [ $tries -lt 5 ] && kill -0 $$; do
      sleep 1
      tries=$((tries + 1))
    done
    kill -KILL $$
  fi
) 3<&- </dev/null >/dev/null 2>&1 &
exec 4<&-
exec "$@"
