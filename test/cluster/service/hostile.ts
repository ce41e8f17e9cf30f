import { connect } from 'node:net'
import { askRelayer } from '../../support/relayer.js'

export const MALLORY = { name: 'mallory', token: 'the-token-of-mallory' }

/** A caller that tries everything to harm the others, with and without a valid key. */
export type Hostile = {
  /** Continues until `isStopped` returns true. */
  run(isStopped: () => boolean): Promise<void>
  /** Counts of answers by attempt: `gas above the block: 400`. */
  readonly answers: ReadonlyMap<string, number>
  /** Answers that are wrong, in one line each. */
  readonly unexpected: readonly string[]
  /** Keys that were answered with 202: they must reach an outcome like those of other callers. */
  readonly accepted: ReadonlySet<string>
}

type Attempt = {
  readonly what: string
  /**
   * The correct statuses. While a process or the database is down, no answer and 503 are correct for every
   * attempt.
   */
  readonly right: readonly number[]
  readonly body?: object | string
  readonly key?: string
  readonly token?: string
  readonly path?: string
}

const to = `0x${'66'.repeat(20)}`
const REVERTING = `0x${'00'.repeat(19)}09`
const DOWN = [503]
const FLOOD = 60
const SOCKETS = 20

export function createHostile(url: () => string | undefined, ownKeyOfAnother: string): Hostile {
  const answers = new Map<string, number>()
  const unexpected: string[] = []
  const accepted = new Set<string>()

  async function attempt({ what, right, body, key, token = MALLORY.token, path }: Attempt): Promise<void> {
    const at = url()
    if (at === undefined) return
    const post = body === undefined ? undefined : { body, ...(key === undefined ? {} : { key }) }
    const status = await askRelayer(at, token, path ?? '/v1/transactions', post).then(
      ({ status }) => status,
      () => 'no answer' as const,
    )
    const line = `${what}: ${status}`
    answers.set(line, (answers.get(line) ?? 0) + 1)
    if (status === 202 && key !== undefined) accepted.add(key)
    // Her own flood exhausts her own rate limit.
    if (status !== 'no answer' && ![...right, ...DOWN, 429].includes(status)) unexpected.push(line)
  }

  async function round(number: number): Promise<void> {
    for (const one of attempts(number, ownKeyOfAnother)) await attempt(one)
    const at = url()
    if (at !== undefined) hold(new URL(at), SOCKETS)
    const flood = { what: 'flood', right: [202], body: { to, gas: '21000' } }
    await Promise.all(
      Array.from({ length: FLOOD }, (_, index) => attempt({ ...flood, key: `flood-${number}-${index}` })),
    )
  }

  return {
    answers,
    unexpected,
    accepted,
    async run(isStopped) {
      for (let number = 0; !isStopped(); number++) await round(number)
    },
  }
}

function attempts(number: number, ownKeyOfAnother: string): readonly Attempt[] {
  const key = (what: string) => `${what}-${number}`
  const all = 10n ** 30n
  return [
    // It is either refused, or ends for lack of funds: it must not block transactions that can be paid.
    {
      what: 'value above everything',
      right: [202],
      key: key('dear'),
      body: { to, value: `${all}`, gas: '21000' },
    },
    { what: 'the same without gas', right: [202], key: key('dearest'), body: { to, value: `${all}` } },
    { what: 'gas above the block', right: [400], key: key('block'), body: { to, gas: '900000000000' } },
    { what: 'gas below the intrinsic', right: [400], key: key('low'), body: { to, gas: '20999' } },
    { what: 'reverts', right: [202], key: key('reverts'), body: { to: REVERTING, data: '0x01' } },
    {
      what: 'reverts with gas',
      right: [202],
      key: key('burns'),
      body: { to: REVERTING, data: '0x01', gas: '60000' },
    },
    { what: 'no JSON', right: [400], key: key('torn'), body: '{"to":' },
    { what: 'another field', right: [400], key: key('nonce'), body: { to, nonce: 0 } },
    { what: 'too large', right: [413], key: key('large'), body: { to, data: `0x${'ff'.repeat(200_000)}` } },
    {
      what: 'a deadline that has passed',
      right: [400],
      key: key('late'),
      body: { to, deadline: '2020-01-01T00:00:00Z' },
    },
    { what: 'an invalid key', right: [400], key: '../../etc', body: { to } },
    { what: 'no key', right: [400], body: { to } },
    { what: 'another body', right: [202, 409], key: 'same', body: { to, gas: `${21_000 + number}` } },
    { what: 'a wrong token', right: [401], token: 'guess', key: key('guess'), body: { to } },
    { what: "another's transaction", right: [404], path: `/v1/transactions/${ownKeyOfAnother}` },
    { what: 'an invalid page', right: [400], path: '/v1/transactions?cursor=%00' },
    { what: 'an unknown path', right: [404], path: '/v1/../admin' },
  ]
}

/** Opens connections that begin a request and never finish it. The service has to close them. */
function hold({ hostname, port }: URL, count: number): void {
  for (let index = 0; index < count; index++) {
    const socket = connect({ host: hostname, port: Number(port) })
    socket.on('error', () => {})
    socket.write('POST /v1/transactions HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n')
    // Open sockets must not keep a test that ends.
    socket.unref()
  }
}
