/** Formats the MicroTime of Leases and Events: exactly six decimals, or the server refuses it. */
export function microTime(wallMs: number): string {
  return new Date(wallMs).toISOString().replace('Z', '000Z')
}
