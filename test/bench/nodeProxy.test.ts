import { keccak256 } from 'viem'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createFault, FAULTS, type Fault } from '../../bench/support/fault.js'
import { createMeter } from '../../bench/support/meter.js'
import { answering, type ScriptedServer, startScriptedServer } from '../contract/scriptedServer.js'
import { type NodeProxy, type ProxyOptions, startNodeProxy } from '../support/nodeProxy.js'

const SEND = 'eth_sendRawTransaction'
let node: ScriptedServer
let proxy: NodeProxy | undefined
beforeEach(async () => {
  node = await startScriptedServer(answering(({ params }) => ({ result: `taken ${params[0]}` })))
})
afterEach(async () => {
  await proxy?.[Symbol.asyncDispose]()
  await node.close()
})

async function open(options?: ProxyOptions): Promise<NodeProxy> {
  proxy = await startNodeProxy(node.url, options)
  return proxy
}

const send = (raw: string, id = 1) => ({ jsonrpc: '2.0', id, method: SEND, params: [raw] })
const read = (id = 1) => ({ jsonrpc: '2.0', id, method: 'eth_blockNumber', params: [] })

async function post({ url }: NodeProxy, body: unknown): Promise<{ status: number; text: string }> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: response.status, text: await response.text() }
}

describe('a proxy before a node', () => {
  it('forwards requests and answers unchanged, and counts them since the last call', async () => {
    const opened = await open()
    const { text } = await post(opened, [send('0x01'), read(2)])
    expect(JSON.parse(text)).toEqual([
      { jsonrpc: '2.0', id: 1, result: 'taken 0x01' },
      { jsonrpc: '2.0', id: 2, result: 'taken undefined' },
    ])
    await post(opened, send('0x02'))
    const counted = opened.take()
    expect(counted).toMatchObject({ requests: 2, calls: 3, methods: { [SEND]: 2, eth_blockNumber: 1 } })
    expect(counted.requestsWith('eth_blockNumber')).toBe(1)
    expect(opened.take()).toMatchObject({ requests: 0, calls: 0 })
    expect(opened).toMatchObject({ requests: 2, sends: 2 })
  })

  it('closes the connection when the node is gone', async () => {
    const gone = await open()
    await node.close()
    await expect(post(gone, read())).rejects.toThrow()
  })
})

describe('a fault', () => {
  const struck = async (fault: Fault) => {
    const armed = createFault()
    armed.arm(fault)
    const through = await open({ rule: armed.rule })
    await post(through, read())
    expect(armed.struckAtMs()).toBeUndefined()
    const answer = await post(through, [send('0x01'), send('0x02', 2)]).catch(() => 'broken' as const)
    expect(armed.struckAtMs()).toBeGreaterThan(0)
    const after = await post(through, send('0x03'))
    expect(after.status).toBe(200)
    return { answer, sends: node.sends() }
  }

  it.each([
    ['lost request', ['0x03'], 'broken'],
    ['lost answer', ['0x01', '0x02', '0x03'], 'broken'],
    ['HTTP 503', ['0x03'], { status: 503 }],
  ] as const)('%s: strikes one request that sends, and the node has %s', async (fault, sends, answer) => {
    const seen = await struck(fault)
    expect(seen.sends).toEqual(sends)
    if (answer === 'broken') expect(seen.answer).toBe(answer)
    else expect(seen.answer).toMatchObject(answer)
  })

  it('of a hash that was never pooled answers for the first transaction, and the node has the others', async () => {
    const { answer, sends } = await struck('hash of what was never pooled')
    expect(sends).toEqual(['0x02', '0x03'])
    const answers = JSON.parse((answer as { text: string }).text) as { id: number; result: string }[]
    expect(answers.find(({ id }) => id === 1)?.result).toBe(keccak256('0x01'))
    expect(answers.find(({ id }) => id === 2)?.result).toBe('taken 0x02')
  })

  it('has four kinds', () => expect(FAULTS).toHaveLength(4))
})

describe('a meter', () => {
  const times = (count: number) => Array.from({ length: count }, (_, id) => ({ ...read(id) }))

  it('allows the tokens that it holds and those added since, and takes none for a request that it refuses', () => {
    let nowMs = 0
    const { rule, seen } = createMeter({ counts: 'calls', perSecond: 10 }, () => nowMs)
    const passes = (count: number) => rule(times(count)).type === 'pass'
    expect([passes(11), passes(6), passes(5), passes(4), passes(1)]).toEqual([
      false,
      true,
      false,
      true,
      false,
    ])
    nowMs += 100
    expect([passes(2), passes(1)]).toEqual([false, true])
    nowMs += 10_000
    expect([passes(10), passes(1)]).toEqual([true, false])
    expect(seen).toEqual({ requests: 9, denied: 5, sends: 0 })
  })

  it('counts only the transactions that it lets through', () => {
    const { rule, seen } = createMeter({ counts: 'calls', perSecond: 3 }, () => 0)
    rule([send('0x01'), send('0x02'), read()])
    rule([send('0x03')])
    expect(seen).toEqual({ requests: 2, denied: 1, sends: 2 })
  })

  it('of requests counts each as one, regardless of its number of calls', () => {
    const { rule } = createMeter({ counts: 'requests', perSecond: 2 }, () => 0)
    expect([rule(times(100)), rule(times(1)), rule(times(1))]).toMatchObject([
      { type: 'pass' },
      { type: 'pass' },
      { type: 'refuse', status: 429 },
    ])
  })
})
