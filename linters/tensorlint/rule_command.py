"""`tensorlint rule`: the list of rules, a rule's page, and the examples of a rules file run as tests."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tensorlint.config import ConfigError, ConfigFinder
from tensorlint.rules.page import fixability, page
from tensorlint.rules.registry import Registry, RuleError, load, rules_of_file

_DEFAULT = {"on": "on", "strict": "--strict", "off": "off"}


def _list(registry: Registry) -> None:
    rules = list(registry)
    width = max((len(rule.name) for rule in rules), default=0)
    for rule in rules:
        mark = "[*]" if fixability(rule) == "`--fix`" else "   "
        print(f"{rule.code}  {rule.name:<{width}}  {_DEFAULT[rule.default]:<8}  {mark}  {rule.summary}")
    print("\n[*] has a safe fix. `tensorlint rule CODE` explains a rule.")


def _test(file: str) -> int:
    """Runs the examples of the rules in a file beside all other rules; 1 if one fails."""
    from tensorlint.example_tests import failures

    path = Path(file).resolve()
    try:
        rules = rules_of_file(path)
        configured = ConfigFinder().of_folder(os.getcwd())
        registry = load(sorted({path, *((configured.root / name).resolve() for name in configured.rules)}))
    except RuleError as error:
        raise ConfigError(str(error)) from None
    failed = [failure for rule in rules for failure in failures(rule, registry)]
    for failure in failed:
        print(f"{failure}\n")
    number = sum(len(rule.flagged) + len(rule.silent) for rule in rules)
    codes = ", ".join(rule.code for rule in rules)
    print(f"{codes}: {len(failed)} of {number} examples failed" if failed else f"{codes}: {number} examples hold")
    return 1 if failed else 0


def rule(arguments: argparse.Namespace) -> int:
    """Runs the command. Raises ConfigError for an unknown rule or a file that cannot be used."""
    if arguments.test:
        if arguments.rule:
            raise ConfigError("a rule and --test FILE cannot be given together")
        return _test(arguments.test)
    registry = ConfigFinder().of_folder(os.getcwd()).registry
    if not arguments.rule:
        _list(registry)
        return 0
    found = registry.find(arguments.rule)
    if found is None:
        raise ConfigError(f"unknown rule {arguments.rule!r}{registry.nearest(arguments.rule)}")
    sys.stdout.write(page(found))
    return 0
