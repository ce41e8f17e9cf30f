import type { Hash } from 'viem'
import { describe, expect, test } from 'vitest'
import type { StoredTransaction } from '../../src/types/store.js'
import { createChain } from './chain/chain.js'
import { createFinalityJudge } from './finality.js'
import { LANE, signOutside } from './outside.js'
import { createRandom } from './random.js'
import type { Finality } from './tagPlan.js'
import { decodeTransaction } from './transaction.js'
import { createVirtualClock } from './virtualClock.js'

const BLOCK_MS = 200

/** A chain of ten fast blocks; the first one has a transaction. */
async function setUp({ finality, lacks = false }: { finality?: Finality; lacks?: boolean } = {}) {
  const clock = createVirtualClock()
  const accounts = [{ address: LANE, balanceWei: 10n ** 18n }]
  const chain = createChain({
    clock,
    random: createRandom(1),
    accounts,
    rules: 'reth',
    blockTimeMs: BLOCK_MS,
  })
  const raw = await signOutside({ chainId: 8453, nonce: 0, program: { kind: 'call', marker: 1 } })
  chain.submit(raw)
  chain.start()
  await clock.advance(10 * BLOCK_MS)
  chain.stop()
  const judge = createFinalityJudge({ chain, finality, lacks: () => lacks, isTagJudged: true })
  const show = (tag: string, number: number, hash: Hash | undefined = chain.canonical[number]?.hash) =>
    judge.answered(
      [{ method: 'eth_getBlockByNumber', params: [tag, false] }],
      [{ ok: true, result: { number: `0x${number.toString(16)}`, hash } }],
    )
  const stored = (changes: Partial<StoredTransaction>) =>
    judge.stored({ id: 'one', block: chain.canonical[1], ...changes } as StoredTransaction)
  const broken = (isBeyond = false) => judge.violations(isBeyond).map(({ promise }) => promise)
  return { clock, chain, judge, show, stored, broken, hash: decodeTransaction(raw)?.hash as Hash }
}

describe('a report of a tag', () => {
  test('is right if an endpoint has shown the tag at the block or above', async () => {
    const { judge, show, stored, broken, hash } = await setUp()
    show('finalized', 1)
    judge.reached(1, 'finalized', hash)
    judge.reached(1, 'safe', hash)
    stored({ stage: 'finalized', verdict: 'landed' })
    expect(broken()).toEqual([])
  })

  test('is early if no endpoint has shown the tag at the block', async () => {
    const { judge, show, stored, broken, hash } = await setUp()
    show('safe', 9)
    judge.reached(1, 'safe', hash)
    expect(broken()).toEqual([])
    judge.reached(1, 'finalized', hash)
    stored({ stage: 'finalized', verdict: 'landed' })
    expect(broken()).toEqual(['finality', 'finality'])
  })

  test('is early if only a block that no branch has was shown', async () => {
    const { judge, show, broken, hash } = await setUp()
    show('finalized', 5, `0x${'9'.repeat(64)}`)
    judge.answered([{ method: 'eth_getBlockByNumber', params: ['finalized'] }], [{ ok: true, result: 7 }])
    judge.reached(1, 'finalized', hash)
    expect(broken()).toEqual(['finality'])
  })

  test.each([
    [{ depth: 9 }, []],
    [{ depth: 10 }, ['finality']],
    [{ afterMs: 1_000 }, []],
    [{ afterMs: 4_000 }, ['finality']],
  ] as const)('follows what the user declares: %j', async (finality, expected) => {
    const { judge, broken, hash } = await setUp({ finality })
    judge.reached(1, 'finalized', hash)
    expect(broken()).toEqual(expected)
  })

  test('may be missing only if an endpoint has no such tag', async () => {
    const has = await setUp()
    has.judge.refused(1, 'finalized')
    expect(has.broken()).toEqual(['finality'])
    const lacks = await setUp({ lacks: true })
    lacks.judge.refused(1, 'finalized')
    expect(lacks.broken()).toEqual([])
  })
})

describe('a transaction that has landed for good', () => {
  test('stays in its block', async () => {
    const { chain, stored, broken } = await setUp()
    stored({ stage: 'sealed', verdict: 'landed' })
    chain.reorg({ depth: 9 })
    expect(broken()).toEqual([])
    chain.reorg({ depth: 10 })
    expect(broken()).toEqual(['landed'])
    expect(broken(true)).toEqual([])
  })

  test.each([
    { stage: 'accepted', verdict: undefined, block: undefined },
    { stage: 'accepted', verdict: 'landed', block: undefined },
    { stage: 'sealed', verdict: 'landed', block: { number: 2, hash: `0x${'2'.repeat(64)}` } },
  ] as const)('is not taken back: %j', async (changes) => {
    const { stored, broken } = await setUp()
    stored({ stage: 'sealed', verdict: 'landed' })
    stored(changes as Partial<StoredTransaction>)
    expect(broken()).toContain('landed')
  })
})
