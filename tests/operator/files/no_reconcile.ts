/** An operator file with a mistake: the controller has no `reconcile`. */
import { operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'

const app = operator({ name: 'unfinished' })
app.controllerFor(ConfigMap)
await app.run(import.meta)
