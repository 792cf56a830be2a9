/** Passes connections of this network namespace to a socket of the file system: `relay.ts HOST PORT PATH`. */
import { connect, createServer } from 'node:net'
import process from 'node:process'

const [host, port, path] = process.argv.slice(2) as [string, string, string]
const server = createServer((client) => {
  const upstream = connect(path)
  client.pipe(upstream).pipe(client)
  for (const [one, other] of [[client, upstream], [upstream, client]] as const) {
    one.on('error', () => other.destroy()).on('close', () => other.destroy())
  }
})
// The address is given to this namespace later.
process.stdout.write('\n')
const listen = (): void => void server.listen(Number(port), host, () => process.stdout.write('listening\n'))
server.on('error', () => setTimeout(listen, 50))
listen()
