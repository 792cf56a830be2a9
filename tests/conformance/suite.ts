/** The conformance cases of an API server. */
import { Api, type Case, type SharedKinds } from './api.ts'
import { CONVERSION_CASES } from './conversions.ts'
import { DEFAULT_CASES } from './defaults.ts'
import { LIMIT_CASES } from './limits.ts'
import { MANIFEST_CASES } from './manifests.ts'
import { OBJECT_CASES } from './objects.ts'
import { ODD_CASES } from './odd_values.ts'
import { POLICY_CASES } from './policies.ts'
import { WEBHOOK_CASES } from './webhooks.ts'
import { ACCESS_CASES } from './access.ts'
import { CEL_CASES } from './cel.ts'
import { KIND_CASES } from './kinds/scenarios.ts'
import { PROTOBUF_CASES } from './protobuf.ts'
import { VERB_CASES } from './verbs.ts'
import { WIRE_CASES } from './wire.ts'
import type { Transport } from '../../lib/core/transport.ts'

/** Cases of what all clients of a server share, like discovery, webhooks and default classes. They run one at a time. */
export const ALONE_CASES: readonly Case[] = [
  ...WEBHOOK_CASES,
  ...CONVERSION_CASES,
  ...WIRE_CASES,
  ...KIND_CASES,
  ...MANIFEST_CASES,
  ...ODD_CASES,
  ...POLICY_CASES,
  ...LIMIT_CASES,
]

/** Cases that see only their own objects. Many may run at the same time. */
export const SEPARATE_CASES: readonly Case[] = [
  ...OBJECT_CASES,
  ...DEFAULT_CASES,
  ...ACCESS_CASES,
  ...CEL_CASES,
  ...PROTOBUF_CASES,
  ...VERB_CASES,
]

export const CASES: readonly Case[] = [...SEPARATE_CASES, ...ALONE_CASES]

/** Runs one case on a server, in its own namespace. */
export async function runCase(each: Case, transport: Transport, shared: SharedKinds): Promise<void> {
  const api = new Api(transport, shared)
  await api.prepare()
  await each.run(api)
}
