/** Lines that ping a monitor: what each is for, and what to copy. */
export function pingLines(url: string): [string, string][] {
  const at = url.lastIndexOf("/ping/");
  const [server, key] = [url.slice(0, at), url.slice(at + "/ping/".length)];
  return [
    ["At the end of a script", `curl -fsS -m 10 --retry 5 -o /dev/null ${url}`],
    ["In a crontab, with the exit code", `0 2 * * * /usr/local/bin/backup; curl -fsS -m 10 --retry 5 ${url}/$?`],
    ["Around a command: start, exit code and output", `foliot ping ${url} -- /usr/local/bin/backup`],
    ["The same with runitor", `runitor -api-url ${server}/ping -uuid ${key} -- /usr/local/bin/backup`],
  ];
}
