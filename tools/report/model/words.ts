import type { RecordedError } from '../../../src/recorder/schema.js'

/** `1,234`. */
export function number(value: number): string {
  return value.toLocaleString('en-US')
}

/** `1 gap`, `2 gaps`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`
}

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000]

/** Two significant parts: `240 ms`, `1.4 s`, `12 min 5 s`. */
export function duration(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`
  if (ms < HOUR) return pair(ms, MINUTE, 'min', SECOND, 's')
  return ms < DAY ? pair(ms, HOUR, 'h', MINUTE, 'min') : pair(ms, DAY, 'd', HOUR, 'h')
}

function pair(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const smalls = Math.round(ms / small)
  const perLarge = large / small
  const rest = smalls % perLarge
  const first = `${number(Math.floor(smalls / perLarge))} ${largeName}`
  return rest === 0 ? first : `${first} ${rest} ${smallName}`
}

/** `2025-06-15 14:26:40 UTC`. */
export function utc(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** An address or a hash, shortened to its ends. */
export function short(hex: string): string {
  return hex.length > 14 ? `${hex.slice(0, 8)}…${hex.slice(-4)}` : hex
}

/** Code and fate of the error, then its message. */
export function errorText({ code, fate, message }: RecordedError): string {
  const label = [code, fate].filter((part) => part !== undefined).join(', ')
  return label === '' ? message : `${label}: ${message}`
}

/** The cause of a wait, by its kind. A newer version may have other kinds. */
export function waitText(kind: string): string {
  return WAITS[kind] ?? kind
}

const WAITS: Readonly<Record<string, string>> = {
  estimate: 'its gas estimate',
  condition: 'the transactions that it was sent after',
  funds: 'money on the account',
  order: 'a transaction that goes before it',
  hold: 'the end of a hold of its lane',
  fee: 'the gas price, or for a base fee that it can pay',
  window: 'the transactions in flight',
  group: 'its group',
  signature: 'its signature',
  journal: 'the store',
  nonce: 'a lower nonce that is empty',
  endpoint: 'an endpoint that accepts it',
  block: 'the next block',
  receipt: 'its receipt',
  evidence: 'the transaction that used its nonce',
}
