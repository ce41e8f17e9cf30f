// SPDX-License-Identifier: MIT
pragma solidity ^0.8.37;

/// Counts how often each item was executed, so that the chain alone shows what happened twice or not at all.
contract Ledger {
    mapping(uint256 item => uint256 times) public marks;
    uint256 public total;

    error Refused(uint256 item);

    /// The ledger's own deployment is item 0. With `total` never at zero again, a mark costs the same gas whichever
    /// comes first, so that an estimate stays right when a reorganisation takes earlier marks away.
    constructor() {
        marks[0] = 1;
        total = 1;
    }

    function mark(uint256 item) external {
        marks[item] += 1;
        total += 1;
    }

    /// Always reverts: what it wrote must be gone afterwards.
    function markAndRevert(uint256 item) external {
        marks[item] += 1;
        total += 1;
        revert Refused(item);
    }
}

/// A deployment that carries its item and marks it.
contract Child {
    uint256 public immutable item;

    constructor(Ledger ledger, uint256 item_) {
        item = item_;
        ledger.mark(item_);
    }
}
