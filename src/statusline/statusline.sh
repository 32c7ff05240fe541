#!/bin/sh
# The status line without a runtime: POSIX sh and curl, which requests the finished line from the gateway. Finds a few
# members in the client's JSON, but does not know the contents of the line. Always prints a line and exits with 0.
# Options: --url URL, --key-file FILE, --segments A,B, --theme NAME. The key never becomes an argument (LINE-08).
LC_ALL=C
export LC_ALL
umask 077
url=${WAYBILL_URL:-} key_file=${WAYBILL_KEY_FILE:-} key=${WAYBILL_KEY:-}
segments='' theme=default nl='
'
while [ $# -gt 1 ]; do
  case $1 in
    --url) url=$2 ;;
    --key-file) key_file=$2 ;;
    --segments | --segment) segments=$2 ;;
    --theme) theme=$2 ;;
  esac
  shift 2
done
# Without a URL, uses the gateway that Claude Code itself calls, with its key, unless it calls Anthropic.
if [ -z "$url" ]; then
  url=${ANTHROPIC_BASE_URL:-} url=${url%/} host=${url#*://} host=${host%%[/?#]*} host=${host##*@} host=${host%:*}
  case $host in
    '' | [Aa][Nn][Tt][Hh][Rr][Oo][Pp][Ii][Cc].[Cc][Oo][Mm] | *.[Aa][Nn][Tt][Hh][Rr][Oo][Pp][Ii][Cc].[Cc][Oo][Mm])
      url=http://127.0.0.1:4949
      ;;
    *) [ -n "$key$key_file" ] || key=${ANTHROPIC_AUTH_TOKEN:-${ANTHROPIC_API_KEY:-}} ;;
  esac
fi
if [ -n "${NO_COLOR:-}" ] || [ "${TERM:-}" = dumb ]; then theme=none; fi
case ${COLUMNS:-} in '' | *[!0-9]* | ??????*) columns=0 ;; *) columns=$COLUMNS ;; esac
while [ "$columns" != "${columns#0?}" ]; do columns=${columns#0}; done # a number with a leading 0 would be octal below
# Claude Code draws its margins in 4 of COLUMNS, and cuts a line that is longer than the rest.
if [ -n "${CLAUDECODE:-}" ] && [ "$columns" -gt 0 ]; then columns=$((columns > 5 ? columns - 4 : 1)); fi

say() { printf 'waybill statusline: %s\n' "$1" >&2; }

# Reads stdin until the end of the first object. The client may leave stdin open, so a pump of 250 ms feeds this loop.
# Braces inside strings can falsify the count; then the pump ends it. The limit is 64 KiB; clients send about 2 KiB.
exec 3<&0
input=$(
  {
    cat <&3 2>/dev/null &
    pump=$!
    { sleep 0.25; kill "$pump"; } >/dev/null 2>&1 3<&- &
  } | {
    text=''
    while part=$(dd bs=65536 count=1 2>/dev/null; echo .) && [ "$part" != . ]; do
      text=$text${part%.}
      if [ ${#text} -gt 65536 ]; then
        text=''
        break
      fi
      left=$text depth=0 braces=0
      while [ $braces -lt 500 ]; do
        case $left in *[{}]*) left=${left#"${left%%[\{\}]*}"} ;; *) break ;; esac
        case $left in \{*) depth=$((depth + 1)) ;; *) depth=$((depth - 1)) ;; esac
        left=${left#?} braces=$((braces + 1))
        [ $depth -gt 0 ] || break
      done
      [ $braces -gt 0 ] && [ $depth -le 0 ] && break
    done
    printf '%s' "$text"
  }
)
exec 3<&-

# Sets `found` to the value of member "$2" in $1: a string without escapes, or the inside of an object; else to ''.
find() {
  found=''
  case $1 in *"\"$2\""*) ;; *) return ;; esac
  rest=${1#*"\"$2\""}
  rest=${rest#"${rest%%[! $nl	]*}"}
  case $rest in :*) rest=${rest#:} ;; *) return ;; esac
  rest=${rest#"${rest%%[! $nl	]*}"}
  case $rest in
    \"*\"*) rest=${rest#?} && found=${rest%%\"*} ;;
    \{*) found=${rest%%\}*} ;;
  esac
  case $found in *\\*) case $rest in \{*) ;; *) found='' ;; esac ;; esac
}
find "$input" session_id
session=${WAYBILL_SESSION_ID:-$found} # `waybill run` gives one to clients that cannot tell theirs
find "$input" model
model=$found label=$found
case $found in
  \{*)
    find "$found" id
    label=$found
    object=$model model=$found
    find "$object" display_name
    [ -z "$found" ] || label=$found
    ;;
esac

if [ -z "$key" ] && [ -n "$key_file" ]; then
  case $(ls -lLd "$key_file" 2>/dev/null) in
    -r[w-][x-]------*)
      # A file of kept keys has a line for each key, and this one is WAYBILL_KEY.
      while IFS= read -r part || [ -n "$part" ]; do
        case $key_file in *keys.env) case $part in WAYBILL_KEY=*) part=${part#*=} ;; *) continue ;; esac ;; esac
        key=$part
        break
      done <"$key_file"
      ;;
    '') say "the key file $key_file cannot be read" ;;
    *) say "the key file $key_file is open to others; run chmod 600 on it" ;;
  esac
fi
case $key in *[!!-~]* | *[\"\\]*) say 'what was given as key is none' && key='' ;; esac
config=''
[ -z "$key" ] || config="header = \"authorization: Bearer $key\""

reply=''
[ -z "$session$model" ] || reply=$(
  curl -q -K - -fsSG -m 0.15 --noproxy '*' --max-filesize 65536 -w '%{content_type} %{http_code}' \
    --data-urlencode "session_id=$session" --data-urlencode "model=$model" -d aged=1 \
    -d "columns=$columns" -d "theme=$theme" ${segments:+-d "segments=$segments"} "$url/api/statusline" <<END
$config
END
)
[ $? -eq 7 ] && why='no gateway' || why='no answer'
case $reply in
  ?*"$nl"?*"$nl"[0-9]*"$nl"'text/plain; charset=utf-8 200')
    answered=yes line=${reply%%"$nl"*} rest=${reply#*"$nl"}
    aged=${rest%%"$nl"*} rest=${rest#*"$nl"}
    at=${rest%%"$nl"*}
    ;;
  *) answered='' ;;
esac

directory=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/waybill/statusline
subject="$url $session $model $theme $segments"
# Sets `file` to the cache file of this session's last line; fails if the directory is not private.
locate() {
  case $session in '' | *"$nl"*) return 1 ;; esac
  case $model in *"$nl"*) return 1 ;; esac
  [ -O "$directory" ] || return 1
  case $(ls -ld "$directory") in drwx------*) ;; *) return 1 ;; esac
  file=$directory/$(printf %s "$subject" | cksum | tr ' ' -).line
}

if [ -n "$answered" ]; then
  printf '%s\n' "$line"
  # Cached after the line is printed, so that the line does not wait; written to a part file and renamed (LINE-12).
  {
    [ -d "$directory" ] || mkdir -p "$directory"
    locate &&
      printf '%s\n%s %s\n%s\n' "$subject" "$at" "$columns" "$aged" >"$file.$$.part" &&
      mv -f "$file.$$.part" "$file"
  } </dev/null >/dev/null 2>&1 &
  exit 0
fi

case $reply in
  *' 401') if [ -n "$key" ]; then say 'the gateway does not accept this key'; else say 'the gateway requires a key'; fi ;;
  *) [ -z "$session$model" ] || say 'the gateway did not answer with a line' ;;
esac
if locate && { IFS= read -r kept && read -r at width && IFS= read -r aged; } 2>/dev/null <"$file" &&
  [ "$kept" = "$subject" ] &&
  { [ "$columns" -eq 0 ] || { [ "$width" -gt 0 ] && [ "$width" -le "$columns" ]; }; }; then
  age=$(($(date +%s) - at))
  if [ $age -lt 60 ]; then
    [ $age -gt 0 ] || age=0
    age="$age s ago"
  elif [ $age -lt 3600 ]; then
    age="$((age / 60)) min ago"
  elif [ $age -lt 86400 ]; then
    age="$((age / 3600)) h ago"
  else
    age="$((age / 86400)) d ago"
  fi
  case $aged in *'{_'*'age'*'_}'*) aged="${aged%%'{_'*}$why, $age${aged##*'_}'}" ;; esac
  printf '%s\n' "$aged"
  exit 0
fi
# The client's own label, if it is only printable ASCII, because the width of other text cannot be computed here.
case $label in '' | *[!\ -~]*) label=waybill ;; esac
if [ "$columns" -gt 0 ]; then printf "%.${columns}s\n" "$label"; else printf '%s\n' "$label"; fi
exit 0
