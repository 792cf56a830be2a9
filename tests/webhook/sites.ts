/** A kind with three versions, of which v1 is the hub. */
import { defineResource } from 'kubeloop'
import * as z from 'zod'
import { FakeClock } from 'kubeloop/testing'
import { type Clock, turnBudgetOf } from '../../lib/async/clock.ts'
import { type ConversionDescription, describeConversion } from '../../lib/schema/conversions.ts'
import { conversionHandler } from '../../lib/webhook/conversion/conversion.ts'

const common = { group: 'web.example.dev', kind: 'Site' } as const

export const SiteV1alpha1 = defineResource({
  ...common,
  version: 'v1alpha1',
  spec: z.object({
    hostname: z.string(),
    tls: z.boolean().default(false),
    fail: z.string().optional(),
    data: z.any().optional(),
  }),
  status: z.object({ ready: z.boolean(), since: z.string().optional() }),
})

const SiteV1beta1 = defineResource({
  ...common,
  version: 'v1beta1',
  spec: z.object({ host: z.string(), secret: z.string().optional() }),
})

export const Site = defineResource({
  ...common,
  version: 'v1',
  spec: z.object({
    hosts: z.array(z.string().min(1)).min(1),
    tls: z.discriminatedUnion('mode', [
      z.object({ mode: z.literal('off') }),
      z.object({ mode: z.literal('on'), secretName: z.string() }),
    ]).default({ mode: 'off' }),
    data: z.any().optional(),
  }),
  status: z.object({ ready: z.boolean(), since: z.string().optional() }),
})

export const fromAlpha: ConversionDescription = describeConversion(SiteV1alpha1, Site, {
  up({ spec, metadata }) {
    if (spec.fail !== undefined) throw new Error(spec.fail)
    return {
      spec: {
        hosts: [spec.hostname],
        tls: spec.tls ? { mode: 'on', secretName: `${metadata.name}-tls` } : undefined,
        data: spec.data,
      },
    }
  },
  down: ({ spec }) => ({
    spec: { hostname: spec.hosts[0] ?? '', tls: spec.tls.mode === 'on', data: spec.data },
  }),
})

export const fromBeta: ConversionDescription = describeConversion(SiteV1beta1, Site, {
  up: ({ spec }) => ({
    spec: { hosts: [spec.host], tls: spec.secret === undefined ? undefined : { mode: 'on', secretName: spec.secret } },
  }),
  down: ({ spec }) => ({
    spec: { host: spec.hosts[0] ?? '', ...(spec.tls.mode === 'on' && { secret: spec.tls.secretName }) },
  }),
})

export const sites: readonly ConversionDescription[] = [fromAlpha, fromBeta]

export const V1ALPHA1 = 'web.example.dev/v1alpha1'
export const V1BETA1 = 'web.example.dev/v1beta1'
export const V1 = 'web.example.dev/v1'

export function metadata(name: string, more: object = {}): object {
  return {
    name,
    namespace: 'default',
    uid: `uid-${name}`,
    resourceVersion: '7',
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...more,
  }
}

export const alpha = (name: string, spec: object, more: object = {}): Item => ({
  apiVersion: V1ALPHA1,
  kind: 'Site',
  metadata: metadata(name),
  spec,
  ...more,
})

export interface Item {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: object
  readonly spec: object
  readonly status?: object
}

export interface Answer {
  readonly status: number
  readonly failed: boolean | undefined
  readonly text: string
  readonly apiVersion: string
  readonly kind: string
  readonly response: {
    readonly uid: string
    readonly result: { readonly status: string; readonly message?: string }
    readonly convertedObjects: readonly Item[]
  }
}

export interface Converter {
  readonly thrown: string[]
  /** Sends a review of these objects, through bytes. */
  convert(objects: readonly unknown[], desired: string, review?: object): Promise<Answer>
  /** Sends any body. */
  send(body: string | Uint8Array, signal?: AbortSignal): Promise<Answer>
}

export function converter(
  conversions: readonly ConversionDescription[] = sites,
  clock: Clock = new FakeClock(),
): Converter {
  const thrown: string[] = []
  const handler = conversionHandler({
    conversions,
    budget: turnBudgetOf(clock),
    onThrow: (error, what) => thrown.push(`${what} <- ${error}`),
  })
  const self: Converter = {
    thrown,
    convert: (objects, desired, review = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview' }) =>
      self.send(JSON.stringify({ ...review, request: { uid: 'u1', desiredAPIVersion: desired, objects } })),
    async send(body, signal = new AbortController().signal) {
      const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
      const { status, body: text, failed } = await handler({ contentType: 'application/json', body: bytes, signal })
      return { ...(status === 200 ? JSON.parse(text) as Answer : {} as Answer), status, failed, text }
    },
  }
  return self
}
