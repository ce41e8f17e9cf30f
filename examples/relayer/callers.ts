import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import type { GroupPolicy } from 'txlane'
import { type DeliveryHandler, webhook } from 'txlane/outbox'
import type { Call } from './schemas.js'

/** A caller with its limits. The relayer pays for its transactions. */
export type Caller = {
  readonly name: string
  readonly requestsPerSecond: number
  /** Delivers the results of this caller's transactions. */
  readonly deliver: DeliveryHandler | undefined
  /** Returns the reason why this caller may not send the call; undefined if it may. */
  refuses(call: Call): string | undefined
}

export type Callers = {
  /** Finds the caller with the key in the header; undefined for an unknown key. */
  find(authorization: string | undefined): Caller | undefined
  named(name: string | undefined): Caller | undefined
  /** Shares of the lanes. They are read at the start of the process; the rest is read at each `reload`. */
  readonly groups: GroupPolicy
  /**
   * Reads the file again.
   * @throws Error that names the place in the file; the previous content stays in effect
   */
  reload(): void
}

type Entry = {
  name: string
  keys: string[]
  targets?: string[]
  valueMax?: string
  gasMax?: string
  requestsPerSecond?: number
  weight?: number
  queueMax?: number
  webhook?: { url: string; secret: string | string[] }
}

const wei = { type: 'string', pattern: '^[0-9]{1,78}$' }
const isEntries = new Ajv().compile<Entry[]>({
  type: 'array',
  minItems: 1,
  items: {
    type: 'object',
    required: ['name', 'keys'],
    additionalProperties: false,
    properties: {
      name: { type: 'string', pattern: '^[\\w-]{1,64}$' },
      keys: { type: 'array', items: { type: 'string', pattern: '^[0-9a-f]{64}$' } },
      targets: { type: 'array', items: { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' } },
      valueMax: wei,
      gasMax: wei,
      requestsPerSecond: { type: 'integer', minimum: 1 },
      weight: { type: 'number', exclusiveMinimum: 0 },
      queueMax: { type: 'integer', minimum: 1 },
      webhook: {
        type: 'object',
        required: ['url', 'secret'],
        additionalProperties: false,
        properties: {
          url: { type: 'string' },
          secret: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' }, minItems: 1 }] },
        },
      },
    },
  },
})

const REQUESTS_PER_SECOND = 50

export function readCallers(file: string): Callers {
  const entries = read(file)
  let all = index(entries)
  const shares = entries.map(({ name, weight, queueMax }) => [name, { weight, queueMax }] as const)
  return {
    find: (authorization = '') => all.byKey.get(digest(authorization.replace(/^Bearer /i, ''))),
    named: (name = '') => all.byName.get(name),
    groups: { named: Object.fromEntries(shares) },
    reload() {
      all = index(read(file))
    },
  }
}

function read(file: string): Entry[] {
  const entries: unknown = JSON.parse(readFileSync(file, 'utf8'))
  if (isEntries(entries)) return entries
  const [first] = isEntries.errors ?? []
  throw new Error(`CALLERS_FILE ${file}${first?.instancePath}: ${first?.message}.`)
}

/** Keys are stored as digests, so that the duration of a lookup reveals nothing about them. */
function index(entries: readonly Entry[]) {
  const byName = new Map<string, Caller>()
  const byKey = new Map<string, Caller>()
  for (const entry of entries) {
    const caller = callerOf(entry)
    if (byName.has(entry.name)) throw new Error(`CALLERS_FILE: "${entry.name}" is there twice.`)
    byName.set(entry.name, caller)
    for (const key of entry.keys) {
      if (byKey.has(key)) throw new Error(`CALLERS_FILE: a key of "${entry.name}" is there twice.`)
      byKey.set(key, caller)
    }
  }
  return { byName, byKey }
}

function callerOf({
  name,
  targets,
  valueMax = '0',
  gasMax,
  requestsPerSecond,
  webhook: hook,
}: Entry): Caller {
  const allowed = targets && new Set(targets.map((target) => target.toLowerCase()))
  return {
    name,
    requestsPerSecond: requestsPerSecond ?? REQUESTS_PER_SECOND,
    deliver: hook && webhook(hook),
    refuses({ to, value = '0', gas }) {
      if (allowed && !allowed.has(to.toLowerCase())) return `"to": ${name} may not call ${to}.`
      if (BigInt(value) > BigInt(valueMax)) return `"value": ${name} may send ${valueMax} wei at most.`
      if (gasMax === undefined) return undefined
      if (gas === undefined) return `"gas" is required, because ${name} may use ${gasMax} at most.`
      return BigInt(gas) > BigInt(gasMax) ? `"gas": ${name} may use ${gasMax} at most.` : undefined
    },
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
