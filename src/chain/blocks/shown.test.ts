import { expect, test } from 'vitest'
import { rpcFailure, scriptedChain, scriptedPort } from '../../../test/support/scriptedChain.js'
import type { Port, RpcReply } from '../../rpc/port.js'
import { standingAt } from './chainView.js'

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

test('a block exists if any endpoint has it under its number', async () => {
  for (const ports of [[has], [hasNone, has], [hasOther, silent, has], [silent, has]])
    expect(await standingAt(ports, block, 1_000)).toBe('same')
})

test('a block is gone if the first endpoint has none at its number, and no endpoint has it', async () => {
  for (const ports of [[hasNone], [hasNone, silent], [hasNone, hasOther]])
    expect(await standingAt(ports, block, 1_000)).toBe('none')
})

test('the result is another block if the first endpoint shows one, and no endpoint has this one', async () => {
  for (const ports of [[hasOther], [hasOther, hasNone, refuses]])
    expect(await standingAt(ports, block, 1_000)).toMatchObject({ number: 2, hash: fork.blockHash(2) })
})

test('the result is unknown if the first endpoint does not answer readably', async () => {
  for (const ports of [[silent], [refuses, hasNone], [malformed, hasOther]])
    expect(await standingAt(ports, block, 1_000)).toBeUndefined()
})
