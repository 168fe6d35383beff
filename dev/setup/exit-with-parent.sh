# sh exit-with-parent.sh <command> [arguments…]: runs a command that ends when the process that started it dies.
#
# The parent holds the other end of the pipe on file descriptor 4. A background subshell reads the pipe. A line means
# that the command has ended. The end of the pipe means that the parent has died; then the subshell ends the command:
# SIGTERM, and SIGKILL after 10 s, as `npm start` does when it stops its programs (dev/stack/child.ts).
(
  if ! read -r _ <&4; then
    kill -TERM $$
    tries=0
    while [ $tries -lt 10 ] && kill -0 $$; do
      sleep 1
      tries=$((tries + 1))
    done
    kill -KILL $$
  fi
) 3<&- </dev/null >/dev/null 2>&1 &
exec 4<&-
exec "$@"
