import { parseAbi } from 'viem'

export const abi = parseAbi(['function quote(uint256 bid, uint256 ask)'])

/**
 * A minimal order book, as bytecode: every call writes the two numbers after the selector to the slots 0 and
 * 1, and slot 2 counts the calls. Any account may quote there; use it for trials only.
 */
export const bytecode = '0x601680600b6000396000f3600435600055602435600155600254600101600255' + '00'
