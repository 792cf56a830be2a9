/** Checks of rights, for expressions about requests: `authorizer.group('').resource('pods').check('get').allowed()`. */
import { NO_RESOURCE } from '../../../core/requested_action.ts'
import { type Attributes, resourceAttributes } from '../../model/attributes.ts'
import { nameProblems } from '../../model/names.ts'
import type { Decision } from '../../model/rights.ts'
import { serviceAccountGroups, serviceAccountName, type User } from '../../model/user.ts'
import { CelError, type LibraryValue } from '../values.ts'
import type { Row } from './table.ts'

/** The user of a request, and what decides about rights. */
export interface Authority {
  readonly user: User
  decide(attributes: Attributes): Decision
}

/** The authority of a request, what is to be checked of it, or the decision. */
class Check<Given> implements LibraryValue {
  readonly typeName: string
  readonly given: Given

  constructor(type: string, given: Given) {
    this.typeName = `kubernetes.authorization.${type}`
    this.given = given
  }

  equals(other: LibraryValue): boolean {
    return this === other
  }
}

type Resource = Pick<Attributes, 'group' | 'resource' | 'subresource' | 'namespace' | 'name'>
type Asked<Of> = Check<{ readonly authority: Authority; readonly of: Of }>

export function authorizerOf(authority: Authority): Check<Authority> {
  return new Check('Authorizer', authority)
}

export function resourceCheckOf(authority: Authority, of: Resource): Asked<Resource> {
  return new Check('ResourceCheck', { authority, of })
}

function filled(text: string, what: string): string {
  if (text.trim() === '') throw new CelError(`${what} must not be empty`)
  return text
}

function serviceAccount({ given }: Check<Authority>, namespace: string, name: string): Check<Authority> {
  if (nameProblems(name, 'subdomain').length > 0) throw new CelError('Invalid service account name')
  if (nameProblems(namespace, 'label').length > 0) throw new CelError('Invalid service account namespace')
  const user = { name: serviceAccountName(namespace, name), groups: serviceAccountGroups(namespace) }
  return authorizerOf({ user, decide: (attributes) => given.decide(attributes) })
}

function resourceOf({ given: { authority, of: group } }: Asked<string>, resource: string): Asked<Resource> {
  return resourceCheckOf(authority, {
    group,
    resource: filled(resource, 'resource'),
    subresource: '',
    namespace: '',
    name: '',
  })
}

const changed = (field: keyof Resource) => ({ given: { authority, of } }: Asked<Resource>, value: string) =>
  resourceCheckOf(authority, { ...of, [field]: value })

/** Roles do not depend on selectors. */
const same = (check: Asked<Resource>): Asked<Resource> => check

function decided({ given: { authority, of } }: Asked<Resource>, verb: string): Check<Decision> {
  const attributes = resourceAttributes({ ...of, version: '*', verb, user: authority.user })
  return new Check('Decision', authority.decide(attributes))
}

function pathDecided({ given: { authority, of: path } }: Asked<string>, verb: string): Check<Decision> {
  return new Check('Decision', authority.decide({ ...NO_RESOURCE, path, verb, user: authority.user }))
}

const pathOf = ({ given }: Check<Authority>, path: string): Asked<string> =>
  new Check('PathCheck', { authority: given, of: filled(path, 'path') })
const groupOf = ({ given }: Check<Authority>, group: string): Asked<string> =>
  new Check('GroupCheck', { authority: given, of: group })

export const AUTHORIZER: readonly Row[] = [
  ['path', 'Authorizer.(string) -> PathCheck', 'authorizer_path', pathOf],
  ['group', 'Authorizer.(string) -> GroupCheck', 'authorizer_group', groupOf],
  ['serviceAccount', 'Authorizer.(string, string) -> Authorizer', 'authorizer_serviceaccount', serviceAccount],
  ['resource', 'GroupCheck.(string) -> ResourceCheck', 'groupcheck_resource', resourceOf],
  ['subresource', 'ResourceCheck.(string) -> ResourceCheck', 'resourcecheck_subresource', changed('subresource')],
  ['namespace', 'ResourceCheck.(string) -> ResourceCheck', 'resourcecheck_namespace', changed('namespace')],
  ['name', 'ResourceCheck.(string) -> ResourceCheck', 'resourcecheck_name', changed('name')],
  ['fieldSelector', 'ResourceCheck.(string) -> ResourceCheck', 'authorizer_fieldselector', same],
  ['labelSelector', 'ResourceCheck.(string) -> ResourceCheck', 'authorizer_labelselector', same],
  ['check', 'PathCheck.(string) -> Decision', 'pathcheck_check', pathDecided],
  ['check', 'ResourceCheck.(string) -> Decision', 'resourcecheck_check', decided],
  ['errored', 'Decision.() -> bool', 'decision_errored', () => false],
  ['error', 'Decision.() -> string', 'decision_error', () => ''],
  ['allowed', 'Decision.() -> bool', 'decision_allowed', ({ given }: Check<Decision>) => given.allowed],
  ['reason', 'Decision.() -> string', 'decision_reason', ({ given }: Check<Decision>) => given.reason],
]
