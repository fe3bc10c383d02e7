#!/bin/sh
# Makes what docker-compose.yml reads as secrets, once, and never changes what is there.
# usage: docker/secrets.sh [DIRECTORY]   (default: .secrets here, which git and the images ignore)
set -eu
umask 077
directory=${1:-$(dirname "$0")/../.secrets}
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)

random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

# Only the directory keeps others out: each container reads its files as a user of its own.
keep() {
  [ -e "$directory/$1" ] || { printf '%s\n' "$2" > "$directory/$1.new"; mv "$directory/$1.new" "$directory/$1"; }
  chmod 0444 "$directory/$1"
}

keep postgres_password "$(random)"
password=$(cat "$directory/postgres_password")
keep metadata_url "postgresql+psycopg://specwatch:$password@postgres:5432/airflow"
keep warehouse_url "postgresql://specwatch:$password@postgres:5432/specwatch"
keep jwt_secret "$(random)"
keep airflow_passwords "{\"admin\": \"$(random)\"}"

echo "SPECWATCH_SECRETS=$directory"
echo "add that line to .env beside docker-compose.yml; Airflow's password (user admin) is in airflow_passwords there" >&2
