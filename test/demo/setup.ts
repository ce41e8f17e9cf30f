import { type Address, getAddress, type Hex, hexToBigInt, numberToHex } from 'viem'
import type { Sender, TxRequest } from '../../src/types/index.js'
import { ledgerContract } from './contracts/artifact.js'
import type { PlainRpc } from './plainRpc.js'
import { type AskedRequest, type GasLimits, type ItemKind, requestOf } from './workload.js'

export type Ledger = { readonly address: Address; readonly hash: Hex }

/** Deploys the ledger contract. @throws Error if the deployment failed. */
export async function deployLedger(sender: Sender): Promise<Ledger> {
  const request = { data: ledgerContract.bytecode, value: 0n } as TxRequest
  const tx = await sender.send(request, { id: 'ledger' })
  const landed = await tx.wait('sealed')
  const address = landed.receipt?.contractAddress
  if (landed.status !== 'success' || !address)
    throw new Error(`the contract was not deployed by ${landed.hash}`)
  return { address: getAddress(address), hash: landed.hash }
}

// No item of a burst has this number, and no item has more calldata bytes.
const PROBE_ITEM = 0xffff_ffff

/** Estimates the gas of each kind once, and adds a margin. */
export async function readGasLimits(rpc: PlainRpc, from: Address, ledger: Address): Promise<GasLimits> {
  const limit = async (kind: ItemKind) => {
    const { to, data, value }: AskedRequest = requestOf(kind, PROBE_ITEM, ledger)
    const call = { from, value: numberToHex(value), ...(to && { to }), ...(data && { data }) }
    return (hexToBigInt((await rpc.call('eth_estimateGas', call)) as Hex) * 3n) / 2n
  }
  const [transfer, call, deployment] = await Promise.all([
    limit('transfer'),
    limit('call'),
    limit('deployment'),
  ])
  // A reverting item does a call's work before it reverts.
  return { transfer, call, deployment, reverting: call }
}
