"""(placeholder until the next commit)"""
