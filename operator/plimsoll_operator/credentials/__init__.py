"""What the leading controller makes and keeps: tokens, and admission's certificate."""
