/** The rules of Events, which two groups serve in two forms. */
import { type ApiObject, at, type Json, str } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { type Cause, fault } from '../../model/status.ts'
import { checked, must, required } from '../../model/checks.ts'

/** The fields with different names in the core form and in the events.k8s.io form. */
const EVENT_NAMES: readonly (readonly [string, string])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
  ['reportingComponent', 'reportingController'],
]

export const CORE_EVENT_RULES: Partial<Rules> = {
  createOnUpdate: true,
  validate: (event) => namespaceFaults(event, event['involvedObject']),
  fields: (event) => eventFields(event, event['involvedObject'], String(at(event, 'source', 'component') ?? '')),
  defaults: coreEventDefaults,
}

export const EVENT_RULES: Partial<Rules> = {
  createOnUpdate: true,
  validate: eventsGroupFaults,
  defaults: eventsGroupDefaults,
  // The selectors of the core group, with the names of this one.
  fields: (event) =>
    Object.fromEntries(
      Object.entries(eventFields(event, event['regarding'], String(at(event, 'deprecatedSource', 'component') ?? '')))
        .filter(([name]) => name !== 'source')
        .map(([name, value]) => [
          name.replace('involvedObject.', 'regarding.').replace('reportingComponent', 'reportingController'),
          value,
        ]),
    ),
  toStored: (event) => renamedEvent(event, 'v1', EVENT_NAMES.map(([core, other]) => [other, core])),
  fromStored: (event) => renamedEvent(event, 'events.k8s.io/v1', EVENT_NAMES),
}

function renamedEvent(event: ApiObject, apiVersion: string, names: readonly (readonly [string, string])[]): ApiObject {
  const result: { [name: string]: Json | undefined } = {}
  for (const [name, value] of Object.entries(event)) result[names.find(([from]) => from === name)?.[1] ?? name] = value
  return { ...result, apiVersion } as ApiObject
}

/** Sets the fields that Go writes even if they are empty. */
function coreEventDefaults(event: ApiObject): void {
  event['source'] ??= {}
  event['involvedObject'] ??= {}
  for (const name of ['firstTimestamp', 'lastTimestamp', 'eventTime']) event[name] ??= null
  event['reportingComponent'] ??= ''
  event['reportingInstance'] ??= ''
}

function eventsGroupDefaults(event: ApiObject): void {
  event['deprecatedSource'] ??= {}
  event['regarding'] ??= {}
  for (const name of ['deprecatedFirstTimestamp', 'deprecatedLastTimestamp', 'eventTime']) event[name] ??= null
}

function eventFields(event: ApiObject, about: Json | undefined, component: string): Readonly<Record<string, string>> {
  const of = (name: string): string => String(at(about, name) ?? '')
  const source = component || String(event['reportingComponent'] ?? event['reportingController'] ?? '')
  return {
    'involvedObject.kind': of('kind'),
    'involvedObject.namespace': of('namespace'),
    'involvedObject.name': of('name'),
    'involvedObject.uid': of('uid'),
    'involvedObject.apiVersion': of('apiVersion'),
    'involvedObject.resourceVersion': of('resourceVersion'),
    'involvedObject.fieldPath': of('fieldPath'),
    reason: String(event['reason'] ?? ''),
    reportingComponent: source,
    source,
    type: String(event['type'] ?? ''),
  }
}

function namespaceFaults({ metadata }: ApiObject, about: Json | undefined): Cause[] {
  const namespace = str(about, 'namespace')
  if (namespace === metadata.namespace || (namespace === '' && metadata.namespace === 'default')) return []
  return [fault.invalid('involvedObject.namespace', namespace, 'does not match event.namespace')]
}

/** The events.k8s.io form requires fields that are optional in the core form. */
function eventsGroupFaults(event: ApiObject, old: ApiObject | undefined): Cause[] {
  const own = ['eventTime', 'reportingController', 'reportingInstance', 'action', 'reason'].map((field) =>
    [field, required()] as const
  )
  const type = must((given) => given === 'Normal' || given === 'Warning', 'must be Normal or Warning')
  return [
    ...namespaceFaults(event, event['regarding']),
    ...(old ? [] : checked(event, own)),
    ...type(event['type'] ?? '', 'type', event),
  ]
}
