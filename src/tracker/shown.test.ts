import { expect, test } from 'vitest'
import { rpcFailure, scriptedChain, scriptedPort } from '../../test/support/scriptedChain.js'
import type { Port, RpcReply } from '../rpc/port.js'
import { isShownBy } from './shown.js'

const ADDRESS = '0xabcdefabcdefabcdefabcdefabcdefabcdefabcd'
const [ours, fork] = [0, 1].map((id) => scriptedChain(ADDRESS, [[], [], []], { id, forkedAt: 2 })) as [
  ReturnType<typeof scriptedChain>,
  ReturnType<typeof scriptedChain>,
]
const block = { number: 2, hash: ours.blockHash(2) }
const answers = (reply: RpcReply): Port => scriptedPort(() => reply)

const has = scriptedPort(ours.answer)
const hasOther = scriptedPort(fork.answer)
const hasNone = answers({ ok: true, result: null })
const silent = answers({ ok: false, failure: { kind: 'timeout', message: 'no answer' } })
const refuses = answers(rpcFailure(-32000, 'unavailable'))
const malformed = answers({ ok: true, result: { number: 'x' } })

test('a block is shown where any endpoint has it under its number', async () => {
  for (const ports of [[has], [hasNone, has], [hasOther, silent, has], [silent, has]])
    expect(await isShownBy(ports, block, 1_000)).toBe(true)
})

test('it is gone where the first says that it has none, or another one, and nobody has it', async () => {
  for (const ports of [[hasNone], [hasOther], [hasNone, silent], [hasOther, hasNone, refuses]])
    expect(await isShownBy(ports, block, 1_000)).toBe(false)
})

test('that is not known where the first does not answer, or not in a way that can be read', async () => {
  for (const ports of [[silent], [refuses, hasNone], [malformed, hasOther]])
    expect(await isShownBy(ports, block, 1_000)).toBeUndefined()
})
