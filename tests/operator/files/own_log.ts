/** An operator with its own log, which marks each line. */
import { type Log, operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'

const at = (level: string): Log['info'] => (message, fields) =>
  console.log(JSON.stringify({ level, message, fields, own: true }))
const log: Log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }

const app = operator({ name: 'own-log', log })
app.controllerFor(ConfigMap).reconcile(async (map, { log }) => log.info('saw {name}', { name: map.metadata.name }))
await app.run(import.meta)
