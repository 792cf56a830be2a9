/** Scripts of server-side apply and managedFields. The answers are recorded. */
import type { Body } from './api.ts'
import { cm, foo, type Script, script } from './transcript.ts'

const MANAGED = 'metadata.managedFields'
const named = (
  kind: 'foo' | 'cm',
  rest: Record<string, unknown> = {},
  metadata: Record<string, unknown> = {},
): Body => ({
  apiVersion: kind === 'foo' ? '{group}/v1' : 'v1',
  kind: kind === 'foo' ? 'Foo' : 'ConfigMap',
  metadata: { name: 'a', ...metadata },
  ...rest,
})
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** A body as kubectl's client-side apply sends it. */
const lastApplied = (object: Body): Body => ({
  ...object,
  metadata: {
    ...object.metadata,
    annotations: { [LAST_APPLIED]: `${JSON.stringify(object)}\n` },
  },
})
const AS_KUBECTL = { userAgent: 'kubectl/v1.36.3' }
const CLIENT = '?fieldManager=kubectl-client-side-apply'
const SERVER = '?fieldManager=kubectl'

export const APPLY_SCRIPTS: readonly Script[] = [
  script('verbs: a custom object under client-side apply, then under server-side apply', [
    [`POST foos${CLIENT} ? ${MANAGED}`, lastApplied(foo('a', { size: 1, name: 'abc' })), AS_KUBECTL],
    [`MERGE foos/a${CLIENT} ? ${MANAGED}`, { metadata: { annotations: { x: 'y' } }, spec: { size: 2 } }, AS_KUBECTL],
    [`APPLY foos/a${SERVER}`, foo('a', { size: 3 }), AS_KUBECTL],
    [`APPLY foos/a${SERVER} ? spec ${MANAGED}`, foo('a', { size: 2 }), AS_KUBECTL],
    [`APPLY foos/a${SERVER}&force=true ? spec metadata.annotations ${MANAGED}`, foo('a', { size: 3 }), AS_KUBECTL],
    [`APPLY foos/a${SERVER} ? spec ${MANAGED}`, named('foo', { spec: { size: 4 } }), AS_KUBECTL],
  ]),
  script('verbs: a ConfigMap under client-side apply, then under server-side apply', [
    [`POST cm${CLIENT} ? ${MANAGED}`, lastApplied(cm('a', { k: 'v', l: 'w' })), AS_KUBECTL],
    [`APPLY cm/a${SERVER}`, cm('a', { k: 'x' }), AS_KUBECTL],
    [`APPLY cm/a${SERVER} ? data ${MANAGED}`, cm('a', { k: 'v' }), AS_KUBECTL],
    [`APPLY cm/a${SERVER}&force=true ? data metadata.annotations ${MANAGED}`, cm('a', { k: 'y' }), AS_KUBECTL],
    [`STRATEGIC cm/a${CLIENT} ? data ${MANAGED}`, { data: { l: 'z' } }, AS_KUBECTL],
  ]),
]
