/** Two network namespaces of this run, joined by a link that drops packets. Needs the rights of root on Linux. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { commandLine } from './lane.ts'
import { until } from './plane.ts'

export type Network = Awaited<ReturnType<typeof openNetwork>>

const [SERVER, OPERATOR, PORT] = ['10.99.0.1', '10.99.0.2', 6443]

export function whyNoNetwork(): string | undefined {
  const { status, stderr, error } = spawnSync('unshare', ['-n', 'ip', 'link', 'show'], { encoding: 'utf8' })
  return status === 0 ? undefined : `no network namespace can be made: ${error?.message ?? stderr.trim()}`
}

/** `path`: the socket of the file system that the server's side leads to. */
export async function openNetwork(path: string) {
  const relay = commandLine('node', fileURLToPath(new URL('./files/relay.ts', import.meta.url)))
  const serving = spawn('unshare', ['-n', ...relay, SERVER, String(PORT), path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const operating = spawn('unshare', ['-n', 'sh', '-c', 'echo; exec sleep 100000'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await Promise.all([once(serving.stdout, 'data'), once(operating.stdout, 'data')])
  const inside = (pid: number | undefined): string[] => ['nsenter', '-t', String(pid), '-n']
  const run = ([command = '', ...args]: string[]): string => execFileSync(command, args, { encoding: 'utf8' })
  const at = (pid: number | undefined, line: string): string => run([...inside(pid), ...line.split(' ')])
  at(serving.pid, `ip link add v0 type veth peer name v1 netns ${operating.pid}`)
  for (const [pid, link, address] of [[serving.pid, 'v0', SERVER], [operating.pid, 'v1', OPERATOR]] as const) {
    at(pid, `ip address add ${address}/24 dev ${link}`)
    at(pid, 'ip link set lo up')
    at(pid, `ip link set ${link} up`)
  }
  await Promise.all([
    once(serving.stdout, 'data'),
    until('the link is up', () => at(serving.pid, 'ip -o link show v0').includes('state UP')),
  ])
  let isShaped = false
  return {
    /** What the operators are started with. */
    prefix: inside(operating.pid),
    server: `https://${SERVER}:${PORT}`,
    /** Drops all packets, or those above a rate; none without an argument. */
    drop(which?: 'all' | 'many') {
      at(serving.pid, `ip link set v0 ${which === 'all' ? 'down' : 'up'}`)
      if (isShaped) at(serving.pid, 'tc qdisc del dev v0 root')
      isShaped = which === 'many'
      // What exceeds the rate is dropped, as the queue has room for two packets.
      if (isShaped) at(serving.pid, 'tc qdisc add dev v0 root tbf rate 128kbit burst 3000 limit 3000')
    },
    async close() {
      for (const child of [serving, operating]) {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
    },
  }
}
