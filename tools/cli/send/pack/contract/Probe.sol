// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

interface IDisperse {
    function disperseEther(address[] calldata recipients, uint256[] calldata values) external payable;
    function disperseTokenSimple(address token, address[] calldata recipients, uint256[] calldata values) external;
}

interface IToken {
    function balanceOf(address owner) external view returns (uint256);
    function allowance(address owner, address spender) external view returns (uint256);
}

/// Stands in for the code of the paying account in a simulated call (`eth_call` with a state override), so
/// that a payment runs with the account's own balances. It is never deployed.
contract Probe {
    receive() external payable {}

    /// Pays native currency. `used` is the gas of the inner call.
    function payEther(IDisperse disperse, address[] calldata to, uint256[] calldata amounts)
        external
        returns (uint256[] memory gained, uint256 spent, uint256 used)
    {
        gained = new uint256[](to.length);
        uint256 sum;
        for (uint256 i = 0; i < to.length; i++) {
            gained[i] = to[i].balance;
            sum += amounts[i];
        }
        spent = address(this).balance;
        used = gasleft();
        disperse.disperseEther{value: sum}(to, amounts);
        used -= gasleft();
        spent = difference(spent, address(this).balance);
        for (uint256 i = 0; i < to.length; i++) gained[i] = difference(to[i].balance, gained[i]);
    }

    /// Approves the exact sum and pays a token. `left` is the allowance that remains.
    function payToken(IDisperse disperse, IToken token, address[] calldata to, uint256[] calldata amounts)
        external
        returns (uint256[] memory gained, uint256 spent, uint256 used, uint256 left)
    {
        gained = new uint256[](to.length);
        uint256 sum;
        for (uint256 i = 0; i < to.length; i++) {
            gained[i] = token.balanceOf(to[i]);
            sum += amounts[i];
        }
        approve(token, address(disperse), sum);
        spent = token.balanceOf(address(this));
        used = gasleft();
        disperse.disperseTokenSimple(address(token), to, amounts);
        used -= gasleft();
        spent = difference(spent, token.balanceOf(address(this)));
        for (uint256 i = 0; i < to.length; i++) gained[i] = difference(token.balanceOf(to[i]), gained[i]);
        left = token.allowance(address(this), address(disperse));
    }

    /// Approves the amount, lets a stranger make the calls, and returns what was drawn.
    function strangerDraws(address disperse, IToken token, uint256 amount, Probe stranger, bytes[] calldata calls)
        external
        returns (uint256 drawn)
    {
        approve(token, disperse, amount);
        uint256 balance = token.balanceOf(address(this));
        stranger.callEach(disperse, calls);
        drawn = difference(balance, token.balanceOf(address(this)));
        uint256 used = difference(amount, token.allowance(address(this), disperse));
        if (used > drawn) drawn = used;
    }

    function callEach(address target, bytes[] calldata calls) external {
        for (uint256 i = 0; i < calls.length; i++) {
            (bool done, ) = target.call{gas: 150_000}(calls[i]);
            if (!done) continue;
        }
    }

    /// Some tokens only accept a change from or to zero, and some return nothing.
    function approve(IToken token, address spender, uint256 amount) private {
        if (token.allowance(address(this), spender) != 0) callApprove(token, spender, 0);
        callApprove(token, spender, amount);
    }

    function callApprove(IToken token, address spender, uint256 amount) private {
        (bool done, bytes memory said) =
            address(token).call(abi.encodeWithSignature("approve(address,uint256)", spender, amount));
        require(done && (said.length == 0 || abi.decode(said, (bool))), "the token refuses the approval");
    }

    function difference(uint256 more, uint256 less) private pure returns (uint256) {
        return more > less ? more - less : 0;
    }
}
