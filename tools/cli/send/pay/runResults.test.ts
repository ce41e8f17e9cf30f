import { expect, test } from 'vitest'
import { type Sender, TxlaneError, type TxlaneErrorCode } from '../../../../src/index.js'
import type { Row } from '../file/rows.js'
import { sendRows } from './run.js'
import { TRUSTING } from './transfers.fixture.js'

const rows = ['a', 'b'].map(
  (id, index) => ({ line: index + 1, id, to: '0x', amount: 1n, request: {} }) as unknown as Row,
)

type Known = Record<string, { stage: string; status?: 'success' | 'reverted' }>

/** A sender that knows the ids of an earlier run. Each transaction that it sends ends with `ends`. */
function senderOf(known: Known, ends: (id: string) => object = () => ({ ok: true, tx: {} })) {
  const sent: string[] = []
  const sender = {
    on: () => () => {},
    async get(id: string) {
      const found = known[id]
      return found && { id, stage: found.stage, wait: async () => ({ status: found.status ?? 'success' }) }
    },
    async *sendMany(items: AsyncIterable<{ id: string; again?: true }>) {
      let index = 0
      for await (const { id, again } of items) {
        sent.push(again ? `${id} again` : id)
        yield { index: index++, ...ends(id) }
      }
    },
  }
  return { sender: sender as unknown as Sender, sent }
}

const OPTIONS = { retryReverted: false, fresh: false, stopped: () => false, transfers: TRUSTING }

test.each(['sealed', 'safe', 'finalized'])(
  'follows a reverted line (%s), and sends it again only on request',
  async (stage) => {
    const known: Known = { a: { stage, status: 'reverted' } }
    const { sender, sent } = senderOf(known)
    await sendRows(sender, rows, OPTIONS).results
    expect(sent).toEqual(['a', 'b'])
    const asked = senderOf(known)
    await sendRows(asked.sender, rows, { ...OPTIONS, retryReverted: true }).results
    expect(asked.sent).toEqual(['a~2', 'b'])
  },
)

test('never sends a paid line again, and follows a line in flight', async () => {
  const known: Known = { a: { stage: 'sealed' }, b: { stage: 'accepted' } }
  const { sender, sent } = senderOf(known)
  await sendRows(sender, rows, { ...OPTIONS, retryReverted: true }).results
  expect(sent).toEqual(['a', 'b'])
})

test('restarts a failed line under its last id, but not a cancelled one', async () => {
  const { sender, sent } = senderOf({
    a: { stage: 'failed' },
    'a~2': { stage: 'failed' },
    b: { stage: 'cancelled' },
  })
  await sendRows(sender, rows, OPTIONS).results
  expect(sent).toEqual(['a~2 again', 'b'])
})

test('does not send a line that its token answers with false, and follows one that was sent', async () => {
  const refuses = { ...OPTIONS, transfers: { ...TRUSTING, answersFalse: async ({ id }: Row) => id === 'a' } }
  const { sender, sent } = senderOf({})
  const results = await sendRows(sender, rows, refuses).results
  expect(sent).toEqual(['b'])
  expect(results.map(({ status }) => status)).toEqual(['failed', 'paid'])
  expect(results[0]?.error).toContain('answers false')
  const later = senderOf({ a: { stage: 'sealed' }, b: { stage: 'failed' } })
  await sendRows(later.sender, rows, refuses).results
  expect(later.sent).toEqual(['a', 'b again'])
})

test('sends a line whose token did not move again only on request', async () => {
  const unmoved = { status: 'unmoved', error: 'said' } as const
  const transfers = { ...TRUSTING, verdicts: async (of: readonly Row[]) => of.map(() => unmoved) }
  const known: Known = { a: { stage: 'sealed' } }
  const { sender, sent } = senderOf(known)
  const results = await sendRows(sender, rows, { ...OPTIONS, transfers }).results
  expect([sent, results[0]?.status]).toEqual([['a', 'b'], 'unmoved'])
  const asked = senderOf(known)
  await sendRows(asked.sender, rows, { ...OPTIONS, transfers, retryReverted: true }).results
  expect(asked.sent).toEqual(['a~2', 'b'])
})

test('reports the end from an earlier run', async () => {
  const cause = new TxlaneError('It was cancelled.', { code: 'CANCELLED', fate: 'notExecuted' })
  const error = new TxlaneError('It ended.', { code: 'ENDED', fate: 'notExecuted', cause })
  const { sender } = senderOf({ a: { stage: 'cancelled' } }, (id) =>
    id === 'a' ? { ok: false, error } : { ok: true, tx: {} },
  )
  const results = await sendRows(sender, rows, OPTIONS).results
  expect(results.map(({ status }) => status)).toEqual(['cancelled', 'paid'])
})

test('sends a new file without reading the store', async () => {
  const { sender, sent } = senderOf({ a: { stage: 'failed' } })
  await sendRows(sender, rows, { ...OPTIONS, fresh: true }).results
  expect(sent).toEqual(['a', 'b'])
})

test('a stopped run takes no further line, and leaves it open', async () => {
  const { sender, sent } = senderOf({})
  let asked = 0
  const run = sendRows(sender, rows, { ...OPTIONS, stopped: () => ++asked > 1 })
  expect((await run.results).map(({ status }) => status)).toEqual(['paid', 'open'])
  expect(sent).toEqual(['a'])
})

test.each<[TxlaneErrorCode, TxlaneError['fate'], string]>([
  ['UNRESOLVED', 'inFlight', 'unresolved'],
  ['CANCELLED', 'notExecuted', 'cancelled'],
  ['SUPERSEDED', 'notExecuted', 'cancelled'],
  ['REJECTED', 'notExecuted', 'failed'],
  ['CLOSED', 'notExecuted', 'open'],
  ['STORE', 'inFlight', 'open'],
  ['NO_RECEIPT', 'executed', 'open'],
  ['WAIT_TIMEOUT', 'executed', 'open'],
])('a line that ends with %s (%s) is %s in the results', async (code, fate, status) => {
  const error = new TxlaneError('said', {
    code,
    fate,
    tx: { id: 'a', stage: 'accepted', nonce: 5, hash: '0x01' },
  })
  const { sender } = senderOf({}, (id) => (id === 'a' ? { ok: false, error } : { ok: true, tx: {} }))
  const run = sendRows(sender, rows, OPTIONS)
  const [first] = await run.results
  expect(first).toMatchObject({ status, nonce: 5, hash: '0x01', error: `${code}: said` })
  expect(run.counts.failed).toBe(1)
})

test('reports a line that landed and reverted as reverted', async () => {
  const landed = { status: 'reverted', hash: '0x02', receipt: { blockNumber: 7n, gasUsed: 9n } }
  const { sender } = senderOf({}, () => ({ ok: true, tx: { nonce: 1 }, landed }))
  const run = sendRows(sender, rows, OPTIONS)
  expect((await run.results)[0]).toMatchObject({
    status: 'reverted',
    hash: '0x02',
    blockNumber: 7n,
    gasUsed: 9n,
  })
  expect(run.counts.failed).toBe(2)
})
