import { describe, expect, it } from 'vitest'
import { hashOf, isBody, isCount, numberIn, scriptedChain } from '../../../test/support/scriptedChain.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import { ADDRESS, ask, chainWith, foreign, mine, NOTHING, UNSURE } from './evidenceAsk.fixture.js'

const chain = chainWith(20, { 10: [mine(0)], 15: [foreign(1)] })
const query = { nonce: 1, from: 14, to: 19, isFirst: true }
const walked = (number: number) => (number <= 19 ? chain.blockHash(number) : undefined)
const isHeader = (call: RpcCall, number: number) =>
  call.method === 'eth_getBlockByNumber' && !isBody(call) && numberIn(call) === number

/** Other fields for the block that a reply shows. */
function changed(reply: RpcReply, fields: object): RpcReply {
  return reply.ok ? { ok: true, result: { ...(reply.result as object), ...fields } } : reply
}

describe('the newest block that was walked', () => {
  it('has to be the newest of the endpoint too, before its counts say anything', async () => {
    const unused = { ...query, nonce: 2 }
    expect(await ask(chain, { ...unused, hashAt: walked }).verdict).toEqual({ kind: 'notUsed' })
    for (const fields of [{ hash: hashOf('block', 9, 19) }, { number: '0x12' }]) {
      const { verdict, port } = ask(chain, { ...unused, hashAt: walked }, (call) =>
        isHeader(call, 19) ? changed(chain.answer(call), fields) : chain.answer(call),
      )
      expect(await verdict).toMatchObject(UNSURE)
      expect(port.batches).toHaveLength(1)
    }
  })

  it('has to be the one that was asked for, where no hash of it is known', async () => {
    const { verdict } = ask(chain, { ...query, nonce: 2 }, (call) =>
      isHeader(call, 19) ? changed(chain.answer(call), { number: '0x12' }) : chain.answer(call),
    )
    expect(await verdict).toMatchObject(UNSURE)
  })

  it('has a parent whose count shows the way: without it nothing further is asked', async () => {
    const { verdict, port } = ask(chain, query, (call) =>
      isCount(call) && numberIn(call) === 18 ? { ok: true, result: null } : chain.answer(call),
    )
    expect(await verdict).toMatchObject(UNSURE)
    expect(port.batches).toHaveLength(1)
  })

  it('has to be the newest still when the block of the use is read again', async () => {
    for (const fields of [{ hash: hashOf('block', 9, 19) }, { number: '0x12' }]) {
      for (const hashAt of [walked, (number: number) => (number === 15 ? undefined : walked(number))]) {
        let tops = 0
        const { verdict } = ask(chain, { ...query, hashAt }, (call) =>
          isHeader(call, 19) && ++tops > 1 ? changed(chain.answer(call), fields) : chain.answer(call),
        )
        expect(await verdict, JSON.stringify(fields)).toMatchObject(UNSURE)
        expect(tops).toBe(2)
      }
    }
  })
})

describe('the block of the use', () => {
  it('has to be the walked one, whatever else the endpoint shows under its number and hash', async () => {
    const fork = scriptedChain(
      ADDRESS,
      Array.from({ length: 20 }, (_, number) => (number === 10 || number === 15 ? [foreign(number)] : [])),
      { id: 1, forkedAt: 15 },
    )
    const atFifteen = (full: boolean) =>
      fork.answer({ method: 'eth_getBlockByNumber', params: ['0xf', full] })
    const { verdict } = ask(chain, { ...query, hashAt: walked }, (call) => {
      if (isBody(call)) return atFifteen(true)
      return isHeader(call, 15) ? atFifteen(false) : chain.answer(call)
    })
    expect(await verdict).toMatchObject(UNSURE)
  })

  it('has to stand on the walked one below it', async () => {
    const below = (hash: `0x${string}`) => (number: number) => (number === 14 ? hash : undefined)
    const right = ask(chain, { ...query, hashAt: below(chain.blockHash(14)) })
    expect(await right.verdict).toMatchObject({ kind: 'other' })
    expect(await ask(chain, { ...query, hashAt: below(hashOf('block', 9, 14)) }).verdict).toMatchObject(
      UNSURE,
    )
  })

  it('has to be the same when it is read again: its hash, its parent, and what is in it', async () => {
    const others = [
      { hash: hashOf('block', 9, 15) },
      { parentHash: hashOf('block', 9, 14) },
      { transactions: [hashOf('stranger', 15)] },
      { transactions: [hashOf('stranger', 15), hashOf('stranger', 16)] },
    ]
    for (const fields of others) {
      const { verdict } = ask(chain, query, (call) =>
        isHeader(call, 15) ? changed(chain.answer(call), fields) : chain.answer(call),
      )
      expect(await verdict, JSON.stringify(fields)).toMatchObject(UNSURE)
    }
    const own = chainWith(20, { 10: [foreign(0)], 15: [mine(1)] })
    expect(await ask(own, query).verdict).toMatchObject({ kind: 'own' })
    for (const fields of others) {
      const { verdict } = ask(own, query, (call) =>
        isHeader(call, 15) ? changed(own.answer(call), fields) : own.answer(call),
      )
      expect((await verdict).kind).toMatch(NOTHING)
    }
  })
})
