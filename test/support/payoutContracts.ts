import type { Abi, Hex } from 'viem'
import { compile } from './compile.js'

type Compiled = { readonly abi: Abi; readonly bytecode: Hex; readonly runtime: Hex }

const HEAD = '// SPDX-License-Identifier: MIT\npragma solidity ^0.8.20;\n'

const INTERFACE = `
interface IToken {
  function transfer(address to, uint256 amount) external returns (bool);
  function transferFrom(address from, address to, uint256 amount) external returns (bool);
}`

const ETHER = `
  function disperseEther(address[] calldata to, uint256[] calldata amounts) external payable {
    for (uint256 i = 0; i < to.length; i++) {
      (bool done, ) = to[i].call{value: amounts[i]}("");
      require(done, "the recipient refuses");
    }
    if (address(this).balance > 0) {
      (bool back, ) = msg.sender.call{value: address(this).balance}("");
      require(back);
    }
  }`

const TOKENS = `
  function disperseToken(IToken token, address[] calldata to, uint256[] calldata amounts) external {
    uint256 total;
    for (uint256 i = 0; i < to.length; i++) total += amounts[i];
    require(token.transferFrom(PAYER, address(this), total));
    for (uint256 i = 0; i < to.length; i++) require(token.transfer(to[i], amounts[i]));
  }
  function disperseTokenSimple(IToken token, address[] calldata to, uint256[] calldata amounts) external {
    for (uint256 i = 0; i < to.length; i++) require(token.transferFrom(PAYER, to[i], amounts[i]));
  }`

const tokensOf = (payer: string) => TOKENS.replaceAll('PAYER', payer)

/** Contracts that disperse; only the first is honest. */
const DISPERSES = {
  Disperse: `${ETHER}${tokensOf('msg.sender')}`,
  /** Whoever is the origin of the transaction pays. */
  OriginDisperse: `${ETHER}${tokensOf('tx.origin')}`,
  /** Anybody may name the account that pays. */
  OpenDisperse: `${ETHER}${tokensOf('msg.sender')}
    function collect(IToken token, address from, address to, uint256 amount) external {
      token.transferFrom(from, to, amount);
    }`,
  /** Keeps a wei of each payment. */
  FeeDisperse: `
    function disperseEther(address[] calldata to, uint256[] calldata amounts) external payable {
      for (uint256 i = 0; i < to.length; i++) {
        (bool done, ) = to[i].call{value: amounts[i] - 1}("");
        require(done);
      }
    }${tokensOf('msg.sender')}`,
} as const

export type DisperseName = keyof typeof DISPERSES

export function compileDisperse(name: DisperseName): Compiled {
  return compile(name, `${HEAD}${INTERFACE}\ncontract ${name} {${DISPERSES[name]}\n}`)
}

const LEDGER = `
  mapping(address => uint256) public balanceOf;
  mapping(address => mapping(address => uint256)) public allowance;
  mapping(address => bool) public blocked;
  event Transfer(address indexed from, address indexed to, uint256 amount);
  event Approval(address indexed owner, address indexed spender, uint256 amount);
  constructor() { balanceOf[msg.sender] = 10 ** 30; }
  function block_(address account) external { blocked[account] = true; }
  function move(address from, address to, uint256 amount) internal {
    require(!blocked[to], "the recipient is blocked");
    balanceOf[from] -= amount;
    balanceOf[to] += amount;
    emit Transfer(from, to, amount);
  }
  function allow(address spender, uint256 amount) internal {
    allowance[msg.sender][spender] = amount;
    emit Approval(msg.sender, spender, amount);
  }`

const standard = (symbol: string, move = 'move(from, to, amount);') => `
  string public symbol = "${symbol}";
  uint8 public decimals = 6;
  function approve(address spender, uint256 amount) external returns (bool) { allow(spender, amount); return true; }
  function transfer(address to, uint256 amount) external returns (bool) { pay(msg.sender, to, amount); return true; }
  function transferFrom(address from, address to, uint256 amount) external returns (bool) {
    allowance[from][msg.sender] -= amount;
    pay(from, to, amount);
    return true;
  }
  function pay(address from, address to, uint256 amount) private { ${move} }`

const TOKENS_BY_NAME = {
  Coin: standard('COIN'),
  /** Returns false, and pays nothing. */
  FalseCoin: standard('FALSE').replace(
    'pay(from, to, amount);\n    return true',
    'return from == to && amount == 0',
  ),
  /** Answers false for a blocked recipient in place of a revert. */
  ShyCoin: standard('SHY')
    .replaceAll(
      'amount) external returns (bool) {',
      'amount) external returns (bool) { if (blocked[to]) return false;',
    )
    .replace(
      'address spender, uint256 amount) external returns (bool) { if (blocked[to]) return false;',
      'address spender, uint256 amount) external returns (bool) {',
    ),
  /** Returns true without an event, and pays nothing. */
  LiarCoin: standard('LIAR', 'blocked[address(0)] = from != to && amount > 0;'),
  /** Pays without an event. */
  SilentCoin: standard('SILENT', 'balanceOf[from] -= amount; balanceOf[to] += amount;'),
  /** Takes one percent of each transfer. */
  FeeCoin: standard('FEE', 'move(from, to, amount - amount / 100); move(from, address(this), amount / 100);'),
  /** Returns nothing, and only accepts a change of an approval from or to zero. */
  OldCoin: `
    string public symbol = "OLD";
    uint8 public decimals = 6;
    function approve(address spender, uint256 amount) external {
      require(amount == 0 || allowance[msg.sender][spender] == 0, "set it to zero first");
      allow(spender, amount);
    }
    function transfer(address to, uint256 amount) external { move(msg.sender, to, amount); }
    function transferFrom(address from, address to, uint256 amount) external {
      allowance[from][msg.sender] -= amount;
      move(from, to, amount);
    }`,
  /** As OldCoin, with the return values that a disperse contract expects. */
  StrictCoin: standard('STRICT').replace(
    '{ allow(spender, amount); return true; }',
    '{ require(amount == 0 || allowance[msg.sender][spender] == 0); allow(spender, amount); return true; }',
  ),
} as const

export type TokenName = keyof typeof TOKENS_BY_NAME

/** The deployer has all units. */
export function compileToken(name: TokenName): Compiled {
  return compile(name, `${HEAD}contract ${name} {${LEDGER}${TOKENS_BY_NAME[name]}\n}`)
}

/** Refuses payments until it is opened. */
export function compileRecipient(): Compiled {
  return compile(
    'Recipient',
    `${HEAD}contract Recipient {
      bool public isOpen;
      function open() external { isOpen = true; }
      receive() external payable { require(isOpen, "closed"); }
    }`,
  )
}
