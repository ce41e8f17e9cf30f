import type { Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import { type Devnet, type FaultRule, startDevnet } from '../../tools/devnet/index.js'
import { ask, askAll, post, rpc, send, sent, sign } from './devnetSupport.js'

const manual = { mining: 'manual' } as const
const SEND = 'eth_sendRawTransaction'

/** The end of a request that may get no answer: the answer, or the failure of the connection. */
const outcome = (answer: Promise<unknown>): Promise<unknown> => answer.catch(() => 'broken')

const hashes = async (devnet: Devnet) => (await devnet.pool()).map(({ hash }) => hash)

describe('faults of a request', () => {
  test('a lost request breaks the connection and has no effect', async () => {
    await using devnet = await startDevnet(manual)
    const fault = devnet.faults.inject({ fault: 'lostRequest', method: SEND, count: 1 })
    expect(await outcome(send(devnet, devnet.accounts[0]!, 0))).toBe('broken')
    expect(await devnet.pool()).toEqual([])
    expect(fault.hits).toBe(1)
    await sent(devnet, devnet.accounts[0]!, 0)
  })

  test('a lost response breaks the connection after the request took effect', async () => {
    await using devnet = await startDevnet(manual)
    devnet.faults.inject({ fault: 'lostResponse', method: SEND, count: 1 })
    expect(await outcome(send(devnet, devnet.accounts[0]!, 0))).toBe('broken')
    expect(await devnet.pool()).toMatchObject([{ nonce: 0 }])
  })

  test('a dropped connection breaks in the middle of the answer', async () => {
    await using devnet = await startDevnet(manual)
    devnet.faults.inject({ fault: 'dropConnection', count: 1 })
    const response = await fetch(devnet.url, { method: 'POST', body: '{"id":1,"method":"eth_chainId"}' })
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow()
    expect(await rpc(devnet.url, 'eth_chainId')).toBe('0x7a69')
  })

  test('a malformed answer arrives complete and is not JSON', async () => {
    await using devnet = await startDevnet(manual)
    devnet.faults.inject({ fault: 'malformed', count: 1 })
    const response = await fetch(devnet.url, { method: 'POST', body: '{"id":1,"method":"eth_chainId"}' })
    const text = await response.text()
    expect(text.length).toBeGreaterThan(0)
    expect(() => JSON.parse(text)).toThrow()
  })

  test('a status replaces the answer, with Retry-After, and the request has no effect', async () => {
    await using devnet = await startDevnet(manual)
    devnet.faults.inject({ fault: 'httpStatus', status: 429, retryAfterMs: 1_500, method: SEND, count: 1 })
    devnet.faults.inject({ fault: 'httpStatus', method: SEND, skip: 1, count: 1 })
    const body = { id: 1, method: SEND, params: [await sign(devnet, devnet.accounts[0]!, 0)] }
    const limited = await post(devnet.url, body)
    expect(limited.status).toBe(429)
    expect(limited.headers.get('retry-after')).toBe('2')
    expect(limited.body).toMatchObject({ error: { code: -32016, message: 'over rate limit' } })
    expect((await post(devnet.url, body)).status).toBe(503)
    expect(await devnet.pool()).toEqual([])
    expect((await post(devnet.url, body)).status).toBe(200)
  })

  test('a delayed request is overtaken by the next', async () => {
    await using devnet = await startDevnet(manual)
    devnet.faults.inject({ fault: 'delay', delayMs: 50, method: 'eth_chainId' })
    const ended: string[] = []
    await Promise.all([
      rpc(devnet.url, 'eth_chainId').then(() => ended.push('delayed')),
      rpc(devnet.url, 'eth_blockNumber').then(() => ended.push('prompt')),
    ])
    expect(ended).toEqual(['prompt', 'delayed'])
  })

  test('a reordered send takes effect after one that was sent later', async () => {
    await using devnet = await startDevnet(manual)
    devnet.faults.inject({ fault: 'reorder', delayMs: 60_000, method: SEND, count: 1 })
    const [first, second] = devnet.accounts
    const held = sent(devnet, first!, 0)
    while (devnet.stats.byMethod[SEND] !== 1) await rpc(devnet.url, 'eth_chainId')
    expect(await devnet.pool()).toEqual([])
    const later = await sent(devnet, second!, 0)
    const earlier = await held
    expect(await hashes(devnet)).toEqual([later, earlier])
  })

  test('a lagging replica answers reads from an older state, and accepts sends', async () => {
    await using devnet = await startDevnet(manual)
    const account = devnet.accounts[0]!
    const old = await sent(devnet, account, 0)
    await devnet.seal()
    const fresh = await sent(devnet, account, 1)
    await devnet.seal()
    const reads = () =>
      askAll(devnet.url, [
        ['eth_blockNumber'],
        ['eth_getTransactionCount', account.address, 'latest'],
        ['eth_getTransactionReceipt', old],
        ['eth_getTransactionReceipt', fresh],
        ['eth_getBlockByNumber', '0x2', false],
        ['eth_getBlockByNumber', 'pending', false],
      ])
    const now = await reads()
    devnet.faults.inject({ fault: 'laggingReplica', blocks: 1, count: 1 })
    const lagging = (await reads()).map(({ result }) => result)
    expect(lagging.slice(0, 2)).toEqual(['0x1', '0x1'])
    expect(lagging[2]).toEqual(now[2]?.result)
    expect(lagging.slice(3, 5)).toMatchObject([{ blockNumber: '0x2' }, null])
    expect(lagging[5]).toMatchObject({ number: '0x2', transactions: [fresh] })
    expect(await reads()).toEqual(now)
  })

  test('a rule matches on the parameters of a call', async () => {
    await using devnet = await startDevnet(manual)
    devnet.faults.inject({ fault: 'lostRequest', match: ({ nonce }) => nonce === 1 })
    const account = devnet.accounts[0]!
    await sent(devnet, account, 0)
    expect(await outcome(send(devnet, account, 1))).toBe('broken')
    await sent(devnet, account, 2)
    expect(devnet.faults.log()).toMatchObject([{ fault: 'lostRequest', method: SEND, nonce: 1 }])
  })
})

describe('faults of a call', () => {
  test('an error answers one call of a batch, and its neighbours are served', async () => {
    await using devnet = await startDevnet(manual)
    devnet.faults.inject({
      fault: 'rpcError',
      code: 3,
      message: 'execution reverted',
      data: '0x',
      method: 'eth_estimateGas',
    })
    const [estimate, number] = await askAll(devnet.url, [
      ['eth_estimateGas', { to: devnet.accounts[0]!.address }],
      ['eth_blockNumber'],
    ])
    expect(estimate?.error).toEqual({ code: 3, message: 'execution reverted', data: '0x' })
    expect(number?.result).toBe('0x0')
  })

  test('a transaction that is never pooled has its hash returned', async () => {
    await using devnet = await startDevnet(manual)
    const account = devnet.accounts[0]!
    const fault = devnet.faults.inject({ fault: 'neverPooled', count: 1 })
    const hash = await sent(devnet, account, 0)
    expect(await devnet.pool()).toEqual([])
    expect(await rpc(devnet.url, 'eth_getTransactionByHash', hash)).toBeNull()
    expect(devnet.faults.log()).toMatchObject([{ fault: 'neverPooled', hash, nonce: 0 }])
    expect(fault.hits).toBe(1)
  })

  test.each(['base', 'anvil'] as const)(
    'an evicted transaction waits, and is gone when the next flashblock is made (%s)',
    async (rules) => {
      await using devnet = await startDevnet({ ...manual, rules })
      const account = devnet.accounts[0]!
      devnet.faults.inject({ fault: 'evict', match: ({ nonce }) => nonce === 0 })
      const hash = await sent(devnet, account, 0)
      expect(await hashes(devnet)).toEqual([hash])
      await devnet.stepFlashblock()
      expect(await hashes(devnet)).toEqual([])
      await devnet.seal()
      expect(await rpc(devnet.url, 'eth_getTransactionByHash', hash)).toBeNull()
    },
  )

  test.each(['base', 'anvil'] as const)(
    'a foreign transaction of the same key wins the nonce of the transaction just sent (%s)',
    async (rules) => {
      await using devnet = await startDevnet({ ...manual, rules })
      const account = devnet.accounts[0]!
      devnet.faults.inject({ fault: 'foreign', count: 1 })
      expect((await send(devnet, account, 0)).error?.message).toMatch(/underpriced/)
      await sent(devnet, account, 1)
      await devnet.seal()
      const { transactions } = await rpc<{ transactions: { nonce: Hex; gasPrice: Hex }[] }>(
        devnet.url,
        'eth_getBlockByNumber',
        'latest',
        true,
      )
      expect(transactions.map(({ nonce }) => nonce)).toEqual(['0x0', '0x1'])
      expect(BigInt(transactions[0]!.gasPrice)).toBeGreaterThan(BigInt(transactions[1]!.gasPrice))
    },
  )
})

describe('faults of the chain', () => {
  test('a lost flashblock makes pending answer as latest until the next one', async () => {
    await using devnet = await startDevnet(manual)
    const account = devnet.accounts[0]!
    const hash = await sent(devnet, account, 0)
    devnet.faults.inject({ fault: 'lostFlashblock', count: 1 })
    const reads = async () =>
      (
        await askAll(devnet.url, [
          ['eth_getTransactionCount', account.address, 'pending'],
          ['eth_getTransactionReceipt', hash],
          ['eth_getBlockByNumber', 'pending', false],
        ])
      ).map(({ result }) => result)
    await devnet.stepFlashblock()
    expect(await reads()).toMatchObject(['0x0', null, { number: '0x0' }])
    await devnet.stepFlashblock()
    expect(await reads()).toMatchObject([
      '0x1',
      { blockNumber: '0x1' },
      { number: '0x1', transactions: [hash] },
    ])
  })

  test('a reorganisation replaces sealed blocks before the next is sealed', async () => {
    await using devnet = await startDevnet(manual)
    const first = await devnet.seal()
    devnet.faults.inject({ fault: 'reorg', depth: 1, count: 1 })
    const second = await devnet.seal()
    expect(second.number).toBe(2n)
    expect(await rpc(devnet.url, 'eth_getBlockByHash', first.hash, false)).toBeNull()
  })
})

describe('faults made with the handle', () => {
  test('a waiting transaction is evicted, and a missing one is not', async () => {
    await using devnet = await startDevnet(manual)
    const hash = await sent(devnet, devnet.accounts[0]!, 0)
    expect(await devnet.evict(hash)).toBe(true)
    expect(await devnet.evict(hash)).toBe(false)
    expect(await devnet.pool()).toEqual([])
  })

  test('a foreign transaction takes the lowest free nonce, or the given one, regardless of the rules', async () => {
    await using devnet = await startDevnet(manual)
    const account = devnet.accounts[0]!
    const own = await sent(devnet, account, 0)
    const foreign = await devnet.foreign({ account })
    expect(await hashes(devnet)).toEqual([foreign])
    await devnet.stepFlashblock()
    expect(await rpc(devnet.url, 'eth_getTransactionByHash', own)).toBeNull()
    const gapped = await devnet.foreign({ account: account.address, nonce: 5 })
    await devnet.stepFlashblock()
    expect(await hashes(devnet)).toEqual([gapped])
    await expect(devnet.foreign({ account: `0x${'12'.repeat(20)}` })).rejects.toMatchObject({
      code: 'INVALID',
    })
  })
})

describe('rules', () => {
  test('strike the same calls with the same seed, and others with another seed', async () => {
    const struck = async (seed: number) => {
      await using devnet = await startDevnet({ ...manual, seed })
      devnet.faults.inject({ fault: 'rpcError', method: 'eth_chainId', probability: 0.5 })
      const answers = await askAll(
        devnet.url,
        Array.from({ length: 40 }, () => ['eth_chainId']),
      )
      return answers.map(({ error }) => error !== undefined)
    }
    const [first, again, other] = [await struck(7), await struck(7), await struck(8)]
    expect(again).toEqual(first)
    expect(other).not.toEqual(first)
    expect(first).toContain(true)
    expect(first).toContain(false)
  })

  test('stop when removed or cleared, and keep their log', async () => {
    await using devnet = await startDevnet(manual)
    const rule: FaultRule = { fault: 'rpcError', method: 'eth_chainId' }
    const handle = devnet.faults.inject(rule)
    devnet.faults.inject({ ...rule, method: ['eth_gasPrice'] })
    expect((await ask(devnet.url, 'eth_chainId')).error).toBeDefined()
    handle.remove()
    expect((await ask(devnet.url, 'eth_chainId')).error).toBeUndefined()
    expect((await ask(devnet.url, 'eth_gasPrice')).error).toBeDefined()
    devnet.faults.clear()
    expect((await ask(devnet.url, 'eth_gasPrice')).error).toBeUndefined()
    expect(devnet.faults.log().map(({ method }) => method)).toEqual(['eth_chainId', 'eth_gasPrice'])
    expect(handle.hits).toBe(1)
  })

  test('that are invalid are refused', async () => {
    await using devnet = await startDevnet(manual)
    const inject = (rule: object) => () => devnet.faults.inject(rule as FaultRule)
    expect(inject({ fault: 'rain' })).toThrow(/fault/)
    expect(inject({ fault: 'delay', probability: 2 })).toThrow(/probability/)
  })

  test('of the default set strike each kind in a batched burst of 1,000', async () => {
    await using devnet = await startDevnet({ ...manual, accounts: 1 })
    devnet.faults.preset('default')
    const account = devnet.accounts[0]!
    const raws = await Promise.all(Array.from({ length: 1_000 }, (_, nonce) => sign(devnet, account, nonce)))
    for (let at = 0; at < raws.length; at += 20) {
      const batch = raws.slice(at, at + 20).flatMap((raw, id) => [
        { id, method: SEND, params: [raw] },
        { id: id + 100, method: 'eth_estimateGas', params: [{ to: account.address }] },
      ])
      await outcome(post(devnet.url, batch))
      await outcome(ask(devnet.url, 'eth_getBlockByNumber', 'pending', false))
      await devnet.stepFlashblock()
    }
    const struck = new Set(devnet.faults.log().map(({ fault }) => fault))
    expect([...struck].sort()).toEqual(
      [
        'delay',
        'dropConnection',
        'evict',
        'foreign',
        'httpStatus',
        'laggingReplica',
        'lostFlashblock',
        'lostRequest',
        'lostResponse',
        'malformed',
        'neverPooled',
        'reorder',
        'rpcError',
      ].sort(),
    )
    devnet.faults.preset('none')
    expect((await ask(devnet.url, 'eth_chainId')).result).toBe('0x7a69')
  })
})
