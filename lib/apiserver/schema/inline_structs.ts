/** The Go structs that others inline: the real server's errors name them. */

/** The Go structs that are inlined into others, with the fields they do not have, or those that they have alone. */
const INLINE: Readonly<
  Record<string, { readonly name: string; readonly not?: readonly string[]; readonly only?: readonly string[] }>
> = {
  Volume: { name: 'VolumeSource', not: ['name'] },
  Probe: { name: 'ProbeHandler', only: ['exec', 'grpc', 'httpGet', 'tcpSocket'] },
  EphemeralContainer: { name: 'EphemeralContainerCommon', not: ['targetContainerName'] },
  RuleWithOperations: { name: 'Rule', not: ['operations'] },
  ConfigMapEnvSource: { name: 'LocalObjectReference', only: ['name'] },
  ConfigMapKeySelector: { name: 'LocalObjectReference', only: ['name'] },
  ConfigMapProjection: { name: 'LocalObjectReference', only: ['name'] },
  ConfigMapVolumeSource: { name: 'LocalObjectReference', only: ['name'] },
  SecretEnvSource: { name: 'LocalObjectReference', only: ['name'] },
  SecretKeySelector: { name: 'LocalObjectReference', only: ['name'] },
  SecretProjection: { name: 'LocalObjectReference', only: ['name'] },
}

/** Returns the Go struct that holds a field, if it is inlined into another: Go's errors name it. */
export function inlineStruct(struct: string, field: string): string {
  const inline = INLINE[struct]
  if (!inline || inline.not?.includes(field) || (inline.only && !inline.only.includes(field))) return ''
  return inline.name
}
