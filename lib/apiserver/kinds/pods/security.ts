/** The Pod Security Standards: what pods must not have. All versions of a level are checked as the latest one. */
import { at, isObject, type Json, type JsonObject, list, str } from '../../model/json.ts'

/** Returns what is wrong with the spec of a pod, in the words of a real server. */
type Check = (spec: JsonObject) => string | undefined

export function containersOf(spec: Json | undefined): JsonObject[] {
  return ['initContainers', 'containers', 'ephemeralContainers'].flatMap((field) => list(spec, field))
}

const plural = (word: string, count: number): string => count === 1 ? word : `${word}s`
const quoted = (items: readonly string[]): string => items.map((each) => `"${each}"`).join(', ')
const uses = (count: number): string => count === 1 ? 'uses' : 'use'
const named = (what: string, items: readonly JsonObject[]): string =>
  `${plural(what, items.length)} ${quoted(items.map((each) => str(each, 'name')))}`
const sorted = (values: readonly string[]): string[] => [...new Set(values)].sort()
const context = (holder: JsonObject, ...path: readonly string[]): Json | undefined =>
  at(holder, 'securityContext', ...path)
const texts = (value: Json | undefined): string[] => Array.isArray(value) ? value.map(String) : []

/** Checks a pod and its containers. `valuesOf` returns what one of them must not have. */
function check(
  reason: string,
  valuesOf: (holder: JsonObject) => readonly string[],
  detail: (who: string, values: readonly string[], count: number) => string,
): Check {
  return (spec) => {
    const isBad = (holder: JsonObject): boolean => valuesOf(holder).length > 0
    const bad = containersOf(spec).filter(isBad)
    if (bad.length === 0 && !isBad(spec)) return undefined
    const who = [...(isBad(spec) ? ['pod'] : []), ...(bad.length > 0 ? [named('container', bad)] : [])].join(' and ')
    return `${reason} (${detail(who, sorted([spec, ...bad].flatMap(valuesOf)), bad.length)})`
  }
}

/** Checks one field of security contexts. */
function contextCheck(reason: string, path: string, isBad: (value: Json) => boolean, rule: string): Check {
  const valuesOf = (holder: JsonObject): string[] => {
    const value = context(holder, ...path.split('.'))
    return value !== undefined && isBad(value) ? [String(value)] : []
  }
  return check(reason, valuesOf, (who, values) => `${who} must not set ${rule.replace('%', quoted(values))}`)
}

/** Checks that containers have what the pod does not set for all of them. */
const mustSet = (reason: string, field: string, rule: string): Check => (spec) => {
  const all = context(spec, field) === undefined ? containersOf(spec) : []
  const bad = all.filter((each) => context(each, field) === undefined)
  return bad.length > 0 ? `${reason} (pod or ${named('container', bad)} must set securityContext.${rule})` : undefined
}

const CAPABILITIES = [
  ...['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD', 'NET_BIND_SERVICE', 'SETFCAP'],
  ...['SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT'],
]
const VOLUMES = [
  ...['configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral', 'image', 'persistentVolumeClaim', 'projected'],
  'secret',
]
const SYSCTLS = [
  ...['kernel.shm_rmid_forced', 'net.ipv4.ip_local_port_range', 'net.ipv4.tcp_syncookies', 'net.ipv4.ping_group_range'],
  ...['net.ipv4.ip_unprivileged_port_start', 'net.ipv4.ip_local_reserved_ports', 'net.ipv4.tcp_keepalive_time'],
  ...['net.ipv4.tcp_fin_timeout', 'net.ipv4.tcp_keepalive_intvl', 'net.ipv4.tcp_keepalive_probes', 'net.ipv4.tcp_rmem'],
  'net.ipv4.tcp_wmem',
]
const SELINUX_TYPES = ['', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t']
const HANDLERS = ['livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle.postStart', 'lifecycle.preStop']

const adding = (allowed: readonly string[]) => (holder: JsonObject): string[] =>
  texts(context(holder, 'capabilities', 'add')).filter((each) => !allowed.includes(each))
const notIncluding = (who: string, values: readonly string[]): string =>
  `${who} must not include ${quoted(values)} in securityContext.capabilities.add`

const unrestrictedCapabilities: Check = (spec) => {
  const kept = containersOf(spec).filter((each) => !texts(context(each, 'capabilities', 'drop')).includes('ALL'))
  const added = check('', adding(['NET_BIND_SERVICE']), notIncluding)(spec)?.slice(2, -1)
  const details = kept.length > 0
    ? [`${named('container', kept)} must set securityContext.capabilities.drop=["ALL"]`]
    : []
  if (added) details.push(added)
  return details.length > 0 ? `unrestricted capabilities (${details.join('; ')})` : undefined
}

const escalation: Check = (spec) => {
  const bad = containersOf(spec).filter((each) => context(each, 'allowPrivilegeEscalation') !== false)
  const detail = `${named('container', bad)} must set securityContext.allowPrivilegeEscalation=false`
  return bad.length > 0 ? `allowPrivilegeEscalation != false (${detail})` : undefined
}

const volumes = (restricted: boolean): Check => (spec) => {
  const bad = list(spec, 'volumes').filter((each) =>
    restricted ? !VOLUMES.some((type) => isObject(each[type])) : isObject(each['hostPath'])
  )
  const types = sorted(bad.flatMap((each) => Object.keys(each).filter((name) => name !== 'name')))
  const what = ` ${uses(bad.length)} ${plural('restricted volume type', types.length)} ${quoted(types)}`
  const reason = restricted ? 'restricted volume types' : 'hostPath volumes'
  return bad.length > 0 ? `${reason} (${named('volume', bad)}${restricted ? what : ''})` : undefined
}

const listed = (reason: string, itemsOf: (spec: JsonObject) => readonly string[]): Check => (spec) => {
  const items = itemsOf(spec)
  return items.length > 0 ? `${reason} (${items.join(', ')})` : undefined
}

const seLinux = check('seLinuxOptions', (holder) => {
  const [type, ...others] = ['type', 'user', 'role'].map((name) => str(context(holder, 'seLinuxOptions'), name))
  const set = ['user', 'role'].filter((_, index) => others[index]).map((name) => `~${name} may not be set`)
  return [...(SELINUX_TYPES.includes(type!) ? [] : [type!]), ...set]
}, (who, values) => {
  const types = values.filter((each) => !each.startsWith('~'))
  const others = values.filter((each) => each.startsWith('~')).map((each) => each.slice(1)).reverse()
  const data = [...(types.length > 0 ? [`${plural('type', types.length)} ${quoted(types)}`] : []), ...others]
  return `${who} set forbidden securityContext.seLinuxOptions: ${data.join('; ')}`
})

const isBadProfile = (type: Json): boolean => type !== 'RuntimeDefault' && type !== 'Localhost'
const isOn = (value: Json): boolean => value === true
/** Root of a user namespace is not root of the node. */
const asRoot = (find: Check): Check => (spec) => spec['hostUsers'] === false ? undefined : find(spec)
const onLinux = (find: Check): Check => (spec) => str(spec, 'os', 'name') === 'windows' ? undefined : find(spec)
const firstOf = (...checks: readonly Check[]): Check => (spec) => checks.map((each) => each(spec)).find(Boolean)
const inContext = (path: string, isBad: (value: Json) => boolean, reason: string, value: string): Check =>
  contextCheck(reason, path, isBad, `securityContext.${path}${value}`)
const procMount = inContext('procMount', (type) => type !== 'Default', 'procMount', ' to %')
const seccomp = inContext('seccompProfile.type', isBadProfile, 'seccompProfile', ' to %')
const nonRoot = inContext('runAsNonRoot', (value) => value === false, 'runAsNonRoot != true', '=false')
const profiles = 'seccompProfile.type to "RuntimeDefault" or "Localhost"'
const hostsOf = (holder: JsonObject): string[] =>
  HANDLERS.flatMap((path) => ['httpGet', 'tcpSocket'].map((how) => str(holder, ...path.split('.'), how, 'host')))
    .filter(Boolean)

/** The checks of both levels, or of one of them, in the order of their messages. */
const CHECKS: readonly (readonly [check: Check, level?: 'baseline' | 'restricted'])[] = [
  [contextCheck('forbidden AppArmor profile', 'appArmorProfile.type', isBadProfile, 'AppArmor profile type to %')],
  [check('non-default capabilities', adding(CAPABILITIES), notIncluding), 'baseline'],
  [listed(
    'host namespaces',
    (spec) => ['hostNetwork', 'hostPID', 'hostIPC'].filter((each) => spec[each] === true).map((each) => `${each}=true`),
  )],
  [volumes(false), 'baseline'],
  [check(
    'hostPort',
    (holder) => list(holder, 'ports').map(({ hostPort }) => String(hostPort || '')).filter(Boolean),
    (who, ports, count) => `${who} ${uses(count)} ${plural('hostPort', ports.length)} ${ports.join(', ')}`,
  )],
  [check(
    'probe or lifecycle host',
    hostsOf,
    (who, hosts, count) => `${who} ${uses(count)} ${plural('probe or lifecycle host', hosts.length)} ${quoted(hosts)}`,
  )],
  [inContext('privileged', isOn, 'privileged', '=true')],
  [asRoot(procMount), 'baseline'],
  [seLinux],
  [seccomp, 'baseline'],
  [listed(
    'forbidden sysctls',
    (spec) =>
      list(spec, 'securityContext', 'sysctls').map((each) => str(each, 'name')).filter((each) =>
        !SYSCTLS.includes(each)
      ),
  )],
  [inContext('windowsOptions.hostProcess', isOn, 'hostProcess', '=true')],
  [onLinux(escalation), 'restricted'],
  [onLinux(unrestrictedCapabilities), 'restricted'],
  [procMount, 'restricted'],
  [volumes(true), 'restricted'],
  [asRoot(firstOf(nonRoot, mustSet('runAsNonRoot != true', 'runAsNonRoot', 'runAsNonRoot=true'))), 'restricted'],
  [asRoot(contextCheck('runAsUser=0', 'runAsUser', (value) => value === 0, 'runAsUser=0')), 'restricted'],
  [onLinux(firstOf(seccomp, mustSet('seccompProfile', 'seccompProfile', profiles))), 'restricted'],
]

/** Returns what a pod breaks of a level; empty if nothing. */
export function violations(level: string, spec: JsonObject): string {
  if (level === 'privileged') return ''
  return CHECKS.flatMap(([find, only = level]) => (only === level && find(spec)) || []).join(', ')
}
