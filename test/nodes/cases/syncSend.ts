import { createPublicClient, createWalletClient, type Hex, http, type TransactionReceipt } from 'viem'
import { laneActions } from '../../../src/index.js'
import { systemClock } from '../../../src/platform/clock.js'
import { classifyReply } from '../../../src/rpc/classify.js'
import { call, type Port, type RpcReply } from '../../../src/rpc/port.js'
import { probeSendSync, SEND_SYNC, type SendSync, sendSyncCall } from '../../../src/rpc/sendSync.js'
import { createHttpPort } from '../../../src/rpc/transports/http.js'
import { startNodeProxy } from '../../support/nodeProxy.js'
import type { RunningNode } from '../run/startNode.js'
import { freshAccount, mined } from '../tools/accounts.js'
import { isOnce, landedOf } from '../tools/landed.js'
import { openLane, payment } from '../tools/lane.js'
import { within } from '../tools/within.js'
import { openWorkbench } from '../tools/workbench.js'
import type { NodeCase } from './nodeCase.js'

const PAYMENTS = 4
const LIMIT_MS = 30_000
const PROBE_MS = 5_000
const WAIT_MS = 50

/**
 * Single payments through `sendTransactionSync`. A node with the method gets one call for each and answers with
 * the receipt that it shows later; its other answers have the documented meaning.
 */
export const syncSend: NodeCase = {
  name: 'sync sends',
  quick: true,
  async run(setting) {
    await using running = await setting.start({ mode: 'interval' })
    const port = createHttpPort({ url: running.url, clock: systemClock })
    const form = await probeSendSync(port, PROBE_MS)
    const paid = await payOneByOne(running)
    const wrong = [...paid.wrong]
    if (paid.sent !== (form ? PAYMENTS - 1 : 0)) wrong.push(`${paid.sent} sync sends`)
    if (form) wrong.push(...(await refusals(await setting.shared('manual'), form)))
    port.close()
    const says = form ? `${paid.sent} sync sends (${form})` : 'it has no sync send'
    return { ok: wrong.length === 0, says: wrong.length === 0 ? says : wrong.join('; ') }
  },
}

async function payOneByOne(running: RunningNode) {
  const wrong: string[] = []
  await using proxy = await startNodeProxy(running.url)
  const fresh = await freshAccount(running)
  const sender = await openLane(running, fresh, { url: proxy.url })
  await within(LIMIT_MS, 'ready()', sender.ready())
  const client = createWalletClient({
    account: fresh.account,
    chain: sender.chain,
    transport: http(proxy.url),
  }).extend(laneActions(sender))
  const direct = createPublicClient({ chain: sender.chain, transport: http(running.url) })
  let sent = 0
  for (let value = 1; value <= PAYMENTS; value++) {
    proxy.take()
    const paying = client.sendTransactionSync({ ...payment(BigInt(value)), timeout: LIMIT_MS } as never)
    const receipt = await within(LIMIT_MS, 'sendTransactionSync()', paying)
    const { methods } = proxy.take()
    // The first payment makes the lane ask for the method, with empty bytes.
    if (value > 1) sent += methods[SEND_SYNC] ?? 0
    const shown = await direct.getTransactionReceipt({ hash: receipt.transactionHash })
    if (!isSame(receipt, shown)) wrong.push(`the receipt differs: ${text(receipt)}, shown ${text(shown)}`)
    await within(LIMIT_MS, 'drain()', sender.drain())
  }
  await sender.close()
  if (!isOnce(await landedOf(running, fresh), PAYMENTS)) wrong.push('not each was paid once')
  return { sent, wrong }
}

const text = (receipt: unknown) =>
  JSON.stringify(receipt, (_, value) => (typeof value === 'bigint' ? `${value}` : value))

const isSame = (one: TransactionReceipt, other: TransactionReceipt) => text(one) === text(other)

/** The answers that are no receipts. */
async function refusals(running: RunningNode, form: SendSync): Promise<string[]> {
  await using bench = await openWorkbench(running)
  const port = createHttpPort({ url: running.url, clock: systemClock })
  const account = await bench.account()
  const wrong: string[] = []
  const check = async (what: string, nonce: number, expected: object) => {
    const { raw, hash } = await bench.sign(account, { nonce: bench.firstNonce + nonce })
    const reply = await ask(port, raw, form)
    const { outcome, reason } = classifyReply(reply, hash)
    if (text({ outcome, reason }) !== text(expected)) wrong.push(`${what}: ${text(reply)}`)
  }
  if (form === true) {
    await check('no block in time', 0, { outcome: 'accepted', reason: 'syncTimeout' })
    await check('the same bytes', 0, { outcome: 'accepted', reason: 'alreadyKnown' })
    await check('above a gap', 5, { outcome: 'accepted', reason: 'syncTimeout' })
  }
  const first = await bench.sign(account, { nonce: bench.firstNonce })
  if (form === true) await mined(running, first.hash)
  else await bench.execute(first)
  await check('a used nonce', 0, { outcome: 'refused', reason: 'nonceTooLow' })
  port.close()
  return wrong
}

function ask(port: Port, raw: Hex, form: SendSync): Promise<RpcReply> {
  const { method, params } = sendSyncCall(raw, form, WAIT_MS)
  return call(port, method, params)
}
