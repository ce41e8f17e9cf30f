import { keccak256, parseGwei } from 'viem'
import { describe, expect, inject, test } from 'vitest'
import { startDevnet } from '../../tools/devnet/index.js'
import { ask, type RpcBody } from '../integration/devnetSupport.js'
import { anvil } from './nodes/anvil.js'
import type { NodeDescription } from './nodes/description.js'
import { geth } from './nodes/geth.js'
import { startNode } from './run/startNode.js'
import { freshAccount } from './tools/accounts.js'

const SYNC = 'eth_sendRawTransactionSync'
const TIMEOUTS = [30, -1, '0x1e']

/** The answers to a transaction that no block takes, one for each timeout, with its hash by a label. */
async function answersOf(url: string, chainId: number, account: SyncAccount): Promise<unknown[]> {
  const answers = []
  for (const [nonce, timeout] of TIMEOUTS.entries()) {
    const fees = { maxFeePerGas: parseGwei('20'), maxPriorityFeePerGas: parseGwei('2') }
    const transfer = { type: 'eip1559', chainId, nonce, to: account.address, gas: 21_000n, ...fees } as const
    const raw = await account.signTransaction(transfer)
    const { error } = await ask(url, SYNC, raw, timeout)
    answers.push(shown(error, keccak256(raw)))
  }
  return answers
}

type SyncAccount = Awaited<ReturnType<typeof freshAccount>>['account']

/** The words of a refused parameter differ between clients. */
function shown(error: RpcBody['error'], hash: string): unknown {
  if (error?.code !== 4) return { code: error?.code }
  return { ...error, message: error.message.replace(hash, 'HASH'), data: error.data === hash }
}

async function realAnswers(description: NodeDescription): Promise<unknown[]> {
  const command = await description.locate(() => undefined)
  await using running = await startNode(description, command, { mode: 'manual' })
  const { account } = await freshAccount(running)
  return await answersOf(running.url, Number(await running.rpc.call('eth_chainId')), account)
}

async function devnetAnswers(rules: 'geth' | 'anvil'): Promise<unknown[]> {
  await using devnet = await startDevnet({ mode: 'plain', mining: 'manual', rules })
  return await answersOf(devnet.url, devnet.chain.id, devnet.accounts[0]!)
}

describe('eth_sendRawTransactionSync of the devnet answers as the node that it imitates', () => {
  test.skipIf(inject('geth') === undefined)('geth', async () => {
    const real = await realAnswers(geth)
    expect(await devnetAnswers('geth')).toEqual(real)
    expect(real[0]).toMatchObject({ code: 4, data: true })
  })

  test('anvil', async () => {
    expect(await devnetAnswers('anvil')).toEqual(await realAnswers(anvil))
  })
})
