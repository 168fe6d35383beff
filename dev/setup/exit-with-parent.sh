# sh exit-with-parent.sh <pid>: ends a process when the process that started it dies.
#
# The parent holds the other end of the pipe on standard input. A line means that the process has ended. The end of the
# pipe means that the parent has died; then the process gets SIGTERM, and SIGKILL after 10 s, as `npm start` does when it
# stops its programs (dev/stack/child.ts).
read -r _ && exit
kill -TERM "$1"
for _ in 1 2 3 4 5 6 7 8 9 10; do
  kill -0 "$1" || exit
  sleep 1
done
kill -KILL "$1"
