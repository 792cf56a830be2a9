/** What tests of worlds share: objects that their operators reconcile, and logs. */
import { type Log, predicates } from 'kubeloop'

export const ref = (name: string) => ({ namespace: 'default', name })
export const isOurs = predicates.matchesLabels('ours')
/** A ConfigMap that {@link isOurs} matches. */
export const map = (name: string) => ({ metadata: { ...ref(name), labels: { ours: '' } } })
/** The configuration of another cluster. */
export const nowhere = { server: 'https://127.0.0.1:1' }
export const silent: Log = { debug() {}, info() {}, warn() {}, error() {} }
