import { describe, expect, test } from 'vitest'
import { TxlaneError } from '../../errors/base.js'
import type { Enqueued, LaneKey, StoredTransaction } from '../../types/store.js'
import { transactionIn } from '../contract/samples.js'
import { memoryStore } from '../memory.js'
import { gathered } from './intake.js'

const laneOf = (index: number): LaneKey => ({
  chainId: 1,
  genesisHash: `0x${'1'.repeat(64)}`,
  address: `0x${index.toString(16).padStart(40, '0')}`,
})
const one = (index: number, id = `t${index}`) => transactionIn(laneOf(index), id)

/** A store that answers on demand. `errors`: the rejections of calls that contain an id. */
function slowStore(errors: Readonly<Record<string, unknown>> = {}) {
  const store = memoryStore()
  const calls: string[][] = []
  const answers: (() => void)[] = []
  const { enqueue, idle } = gathered(async (transactions: readonly StoredTransaction[]) => {
    calls.push(transactions.map(({ id }) => id))
    await new Promise<void>((resolve) => void answers.push(resolve))
    for (const { id } of transactions) if (errors[id]) throw errors[id]
    return store.enqueue(transactions)
  })
  const answer = async () => {
    // Lets the requested call begin.
    for (let turn = 0; turn < 20; turn++) await Promise.resolve()
    answers.shift()?.()
    // Lets the waiting callers get the answer, and the next call begin.
    for (let turn = 0; turn < 20; turn++) await Promise.resolve()
  }
  return { enqueue, idle, calls, answer }
}

const ids = (answers: readonly Enqueued[]) =>
  answers.map(({ fresh, transaction: { id } }) => `${id}${fresh ? '' : ' known'}`)

describe('calls of several lanes', () => {
  test('are combined per turn, later ones go with the next call, and each gets its own answers', async () => {
    const { enqueue, calls, answer } = slowStore()
    const early = [enqueue([one(1), one(1, 'x')]), enqueue([one(2)])]
    for (let turn = 0; turn < 9; turn++) await Promise.resolve()
    const late = [enqueue([one(3)]), enqueue([one(2)]), enqueue([])]
    await answer()
    await answer()
    expect(calls).toEqual([
      ['t1', 'x', 't2'],
      ['t3', 't2'],
    ])
    expect((await Promise.all(early)).map(ids)).toEqual([['t1', 'x'], ['t2']])
    expect((await Promise.all(late)).map(ids)).toEqual([['t3'], ['t2 known'], []])
  })

  test('are limited to the size of one statement, and a larger call goes alone', async () => {
    const { enqueue, calls, answer } = slowStore()
    const many = (count: number, name: string) =>
      Array.from({ length: count }, (_, nth) => one(nth, `${name}${nth}`))
    const asked = [
      enqueue(many(300, 'a')),
      enqueue(many(200, 'b')),
      enqueue(many(1, 'c')),
      enqueue(many(900, 'd')),
    ]
    for (let turn = 0; turn < 4; turn++) await answer()
    const answers = await Promise.all(asked)
    expect(calls.map(({ length }) => length)).toEqual([500, 1, 900])
    expect(answers.map(({ length }) => length)).toEqual([300, 200, 1, 900])
  })

  test('are stored even if one of them cannot be stored', async () => {
    const invalid = new TxlaneError('A function cannot be kept.', { code: 'INVALID', fate: 'notExecuted' })
    const { enqueue, calls, answer } = slowStore({ t2: invalid })
    const asked = [1, 2, 3].map((index) => enqueue([one(index)]))
    const settled = Promise.allSettled(asked)
    for (let turn = 0; turn < 4; turn++) await answer()
    expect((await settled).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(calls).toEqual([['t1', 't2', 't3'], ['t1'], ['t2'], ['t3']])
  })

  test('are rejected once and not repeated if the store fails, or if its result is unknown', async () => {
    const lost = new TxlaneError('Cut off.', { code: 'STORE', fate: 'inFlight', details: 'unknown' })
    const { enqueue, calls, answer } = slowStore({ t2: lost })
    const settled = Promise.allSettled([1, 2].map((index) => enqueue([one(index)])))
    await answer()
    expect(await settled).toEqual([
      { status: 'rejected', reason: lost },
      { status: 'rejected', reason: lost },
    ])
    expect(calls).toHaveLength(1)
    const next = enqueue([one(3)])
    await answer()
    expect(ids(await next)).toEqual(['t3'])
  })

  test('are all answered once it is idle', async () => {
    const { enqueue, idle, answer } = slowStore()
    await idle()
    let isIdle = false
    const answered = [enqueue([one(1)]), enqueue([one(2)])]
    void idle().then(() => {
      isIdle = true
    })
    for (let turn = 0; turn < 50; turn++) await Promise.resolve()
    expect(isIdle).toBe(false)
    await answer()
    await Promise.all(answered)
    await idle()
  })
})
